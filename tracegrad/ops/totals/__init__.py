"""What becomes of all elements along axes: sums, running totals, statistics, orders."""
