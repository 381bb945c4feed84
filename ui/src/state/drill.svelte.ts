// The drill that is played: what was named and done, and the truth once it has ended.

import type { DrillView } from "../api/generated";
import { api } from "../api/generated";
import { attempt } from "./attempt";
import { fleet } from "./fleet.svelte";

/** The answer that nothing is wrong. */
export const NOTHING_WRONG = "nothing-wrong";

class DrillState {
  view = $state.raw<DrillView | undefined>();
  #asked = false;

  /** A drill is on or has just ended, and its world is what is watched. */
  get playing(): DrillView | undefined {
    return fleet.drill ? this.view : undefined;
  }

  /** Asks once when a drill begins; forgets when something else is watched. */
  follow(on: boolean) {
    if (!on) {
      this.#asked = false;
      this.view = undefined;
    } else if (!this.#asked) {
      this.#asked = true;
      void attempt(api.drill()).then((view) => (this.view = view));
    }
  }

  async take(work: Promise<DrillView>) {
    const view = await attempt(work);
    if (view) this.view = view;
  }

  answer(id: string, cause: string) {
    return this.take(api.answer_drill({ id, cause }));
  }

  act(id: string, deed: "destroy" | "reboot") {
    return this.take(api.do_in_drill({ id, deed }));
  }

  end() {
    return this.take(api.end_drill());
  }

  /** What was named last of an instance. */
  named(id: string): string | undefined {
    return this.view?.answers.filter((answer) => answer.id === id).at(-1)?.cause;
  }
}

export const drill = new DrillState();
