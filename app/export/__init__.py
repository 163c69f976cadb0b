"""What leaves the tool: result JSON, report."""
