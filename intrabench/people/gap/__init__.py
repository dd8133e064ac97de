"""How real the simulated user is: people and robots that prompted the same model on the same targets."""
