"""What is declared, charged and held: queues, the tree of cohorts, the ledger, shares, history."""
