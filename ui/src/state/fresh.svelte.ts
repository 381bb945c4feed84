// Something that is read again with every answer of the manager, and when asked; a failure leaves what was there.

import { asApiError } from "../host";
import { fleet } from "./fleet.svelte";

export class Fresh<T> {
  value = $state.raw<T | undefined>();
  failure = $state<string | undefined>();
  #asked = $state(0);

  /** To be made while a component is set up. What `read` depends on is read from inside it. */
  constructor(read: () => Promise<T>) {
    $effect(() => {
      void fleet.head?.as_of;
      void this.#asked;
      let current = true;
      read().then(
        (value) => {
          if (current) [this.value, this.failure] = [value, undefined];
        },
        (thrown) => {
          if (current) this.failure = asApiError(thrown).message;
        },
      );
      return () => (current = false);
    });
  }

  again() {
    this.#asked += 1;
  }
}
