"""`incarnate job ...`: submits and controls jobs. Only `verbs` is loaded until a verb runs."""
