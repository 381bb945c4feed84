// Fleet time: what the host said it was, plus what has passed since at the fleet's speed. One ticking value for all.

class Clock {
  /** Fleet time, ms since the epoch. Ticks. */
  now = $state(Date.now());
  #base = Date.now();
  #at = performance.now();
  #speed = 1;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** Sets the time and how fast it runs. */
  set(now: string, speed: number) {
    this.#base = Date.parse(now);
    this.#at = performance.now();
    this.#speed = speed;
    this.now = this.#base;
  }

  /** Begins to tick; gives a function that ends it. */
  start(): () => void {
    this.#timer = setInterval(() => {
      if (!document.hidden) this.now = this.#base + (performance.now() - this.#at) * this.#speed;
    }, 500);
    return () => clearInterval(this.#timer);
  }
}

export const clock = new Clock();
