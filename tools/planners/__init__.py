"""Published planners on carlite: they drive benchmark routes through their own leaderboard."""
