{{ css }}{{ boot }}{{ js }}
