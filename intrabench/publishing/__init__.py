"""Results for others: submissions and boards, formats of others, the methods of a paper."""
