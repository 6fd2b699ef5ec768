"""CronJobs: their intake, their turns and their status."""
