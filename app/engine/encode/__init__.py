"""The encode branch: forks off after processing, codes what the preview shows, and never holds the preview back."""
