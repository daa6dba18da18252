mod bearing;
mod certainty;
mod regulated;
mod resting;
mod worlds;
