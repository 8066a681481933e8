"""Operations on elements: arithmetic, comparison, elementary and special functions."""
