"""Operations whose parameters are graphs: calls, and the structured loops and branches."""
