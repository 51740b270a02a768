"""The agents: each class says how it differs from its base. `ablations` serves the study controls, `warm_up` goal."""
