"""First clicks of people, collected as RClicks did: a target is shown for a moment, then clicked on the image."""
