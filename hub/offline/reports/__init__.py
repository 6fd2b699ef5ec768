"""What came of it: decisions and figures as JSON, and a page with charts."""
