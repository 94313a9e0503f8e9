"""Steps in a sandbox: what they see, made of what the plan says and of what is there, as a call of bubblewrap."""
