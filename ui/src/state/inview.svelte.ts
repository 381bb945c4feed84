// Which instance is in view: the one whose page, diagnosis or inspector is on the screen, or the row that is selected and not
// hidden. Whatever acts on "the" instance acts on this one. The view that shows it says so; nobody else knows.

import type { InstanceRow } from "../api/generated";
import { gpu, shortId } from "../lib/format";
import { fleet } from "./fleet.svelte";

class InView {
  #id = $state.raw<string | undefined>();
  #owner: symbol | undefined;

  /** To be called while a view is set up: what it shows, for as long as it is there. */
  follow(shown: () => string | undefined) {
    const me = Symbol("view");
    $effect(() => {
      this.#owner = me;
      this.#id = shown();
    });
    $effect(() => () => {
      // The next view may have said already what it shows.
      if (this.#owner === me) [this.#owner, this.#id] = [undefined, undefined];
    });
  }

  /** The row of it; undefined where none is in view, or where the fleet has it no more. */
  get row(): InstanceRow | undefined {
    return this.#id === undefined ? undefined : fleet.row(this.#id);
  }
}

export const inView = new InView();

/** `d977dead, RTX 4090`: what a command says that it acts on. */
export function named(row: InstanceRow): string {
  return row.gpu_name === null ? shortId(row) : `${shortId(row)}, ${gpu(row)}`;
}
