// The stream from the bridge. The bridge says every few seconds that it is there; where it does not, the backend is gone, however
// well the page still looks. It is asked for again and again, and comes back by itself.

import type { Patch } from "../api/generated";

/** The backend does not answer. */
export interface Lost {
  /** When it was heard last, ms since the epoch; when the page began, where it never was. */
  since: number;
  /** What is known of why. */
  why: string;
}

/** What is heard. */
export interface Ears {
  patch: (patch: Patch) => void;
  /** Nothing is watched: said where a connection begins. */
  nothing: () => void;
  lost: (lost: Lost | undefined) => void;
}

/** The bridge says something every two seconds: silence for so long is no chance, ms. */
export const SILENT_MS = 6_000;
/** It is asked for again after so long, ms. */
export const AGAIN_MS = 2_000;
/** How often silence is looked for, ms. */
const LOOK_MS = 1_000;

export class Line {
  #open: () => EventSource;
  #ears: Ears;
  #source: EventSource | undefined;
  #heardAt = performance.now();
  #heardWhen = Date.now();
  /** When the present connection was asked for. */
  #askedAt = 0;
  #timer: ReturnType<typeof setInterval> | undefined;
  #again: ReturnType<typeof setTimeout> | undefined;
  #calls = new AbortController();
  lost: Lost | undefined;

  constructor(open: () => EventSource, ears: Ears) {
    this.#open = open;
    this.#ears = ears;
  }

  start(): () => void {
    this.connect();
    this.#timer = setInterval(() => this.look(), LOOK_MS);
    return () => {
      clearInterval(this.#timer);
      clearTimeout(this.#again);
      this.#source?.close();
    };
  }

  /** Ends calls that nobody will answer any more. */
  get calls(): AbortSignal {
    return this.#calls.signal;
  }

  /** A call found nobody there. */
  suspect() {
    this.lose("it does not answer calls");
    this.reconnect(0);
  }

  private connect() {
    this.#source?.close();
    const source = this.#open();
    [this.#source, this.#askedAt] = [source, performance.now()];
    let first = true;
    const heard = () => {
      if (this.#source !== source) return false;
      [this.#heardAt, this.#heardWhen] = [performance.now(), Date.now()];
      if (this.lost) {
        this.lost = undefined;
        this.#ears.lost(undefined);
      }
      return true;
    };
    source.onmessage = (message: MessageEvent<string>) => {
      if (!heard()) return;
      first = false;
      this.#ears.patch(JSON.parse(message.data) as Patch);
    };
    source.addEventListener("alive", (message: MessageEvent<string>) => {
      if (heard() && first && message.data === "nothing") this.#ears.nothing();
    });
    source.onerror = () => {
      if (this.#source !== source) return;
      this.lose("the connection to it is broken");
      this.reconnect(AGAIN_MS);
    };
  }

  private reconnect(afterMs: number) {
    this.#source?.close();
    this.#source = undefined;
    clearTimeout(this.#again);
    this.#again = setTimeout(() => this.connect(), afterMs);
  }

  private look() {
    const now = performance.now();
    if (now - this.#heardAt <= SILENT_MS) return;
    this.lose("it says nothing any more");
    if (this.#source && now - this.#askedAt > SILENT_MS) this.reconnect(0);
  }

  private lose(why: string) {
    if (this.lost) return;
    this.lost = { since: this.#heardWhen, why };
    this.#calls.abort();
    this.#calls = new AbortController();
    this.#ears.lost(this.lost);
  }
}
