"""Sets of categories judged together: Table 3 of IDIAP-RR 04-34, and whether its bootstrap is biased."""
