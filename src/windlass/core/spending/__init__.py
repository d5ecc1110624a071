"""What jobs have used and may still use: hours in the site's unit, by run and person, against limits."""
