"""What pages of queues and clusters are made of, and what is looked at before somebody acts."""
