// Going to another fleet ends the watch over this one. What stops with it is said first.

import { api } from "../api/generated";
import { acting } from "./acts.svelte";
import { drill } from "./drill.svelte";
import { fleet } from "./fleet.svelte";
import { rolling } from "./rolling.svelte";

export interface Departure {
  from: string;
  to: string;
  /** What ends, a sentence each. */
  stops: string[];
  go: () => void;
}

const several = (count: number, one: string, more: string) => (count === 1 ? `1 ${one}` : `${count} ${more}`);

/** What ends when the present fleet is left; nothing for a simulation that nobody works with. */
async function whatStops(): Promise<string[]> {
  const head = fleet.head;
  if (!head) return [];
  const stops: string[] = [];
  if (!fleet.simulated) {
    stops.push(
      `${head.watching.name} is live. It is not watched any more: what happens to its ${several(fleet.rows.length, "instance", "instances")} is not recorded, and nothing warns you.`,
    );
  }
  // Where they cannot be read it is not known that there are none.
  const rules = await api.rules().then(
    (read) => read.rules.filter((it) => it.rule.on).map((it) => it.rule.name),
    () => undefined,
  );
  if (rules === undefined) stops.push("Rules, if there are any, are not followed.");
  else if (rules.length > 0)
    stops.push(`${several(rules.length, "rule is", "rules are")} not followed any more: ${rules.join(", ")}.`);
  const rollouts = rolling.underWay.filter((it) => it.state === "going");
  if (rollouts.length > 0)
    stops.push(
      `${several(rollouts.length, "rollout stops", "rollouts stop")} where ${rollouts.length === 1 ? "it is" : "they are"}: ${rollouts.map((it) => it.name).join(", ")}.`,
    );
  if (acting.underWay > 0)
    stops.push(
      `${several(acting.underWay, "action is", "actions are")} not verified yet: what comes of it is read when the fleet is watched again.`,
    );
  if (drill.playing && !drill.playing.debrief) stops.push(`The drill “${drill.playing.title}” ends without a debrief.`);
  if (stops.length > 0 && acting.mayAct) stops.push("Write access ends.");
  return stops;
}

class Leaving {
  wanted = $state.raw<Departure | undefined>();

  /** Goes there at once where nothing is lost by it, else asks. */
  async ask(to: string, go: () => void) {
    const stops = await whatStops();
    if (stops.length === 0) go();
    else this.wanted = { from: fleet.head?.watching.name ?? "", to, stops, go };
  }

  stay() {
    this.wanted = undefined;
  }

  leave() {
    const go = this.wanted?.go;
    this.wanted = undefined;
    go?.();
  }
}

export const leaving = new Leaving();
