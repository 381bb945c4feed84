// Deployments and replacements: what is being planned, and how those that were begun stand.

import type { RolloutPlan, RolloutRequest, Rollouts, RolloutView } from "../api/generated";
import { toast } from "svelte-sonner";
import { untrack } from "svelte";
import { api } from "../api/generated";
import { attempt } from "./attempt";
import { acting } from "./acts.svelte";
import { fleet } from "./fleet.svelte";
import { router } from "./route.svelte";

/** How often they are read while one is under way, and otherwise. */
const SOON_MS = 2_000;
const EVERY_MS = 30_000;

/** For whom, and what was chosen beforehand. */
export interface Whom {
  ids?: string[];
  count?: number;
  offerIds?: number[];
  gpu?: string | null;
  /** What they cost an hour, where that is known. */
  dollars?: number;
  why?: string;
}

export interface Terms {
  count: number;
  budget: number;
  atOnce: number;
  perProof: number | null;
  gpu: string | null;
  why: string;
}

const NO_MARKET = { filter: null, cards: null, dollars_per_h_max: null, disk_gb: null, needs: null, all: false, limit: null };

class Rolling {
  all = $state.raw<Rollouts | undefined>();
  whom = $state.raw<Whom | undefined>();
  plan = $state.raw<RolloutPlan | undefined>();
  #said = new Map<string, string>();

  get underWay(): RolloutView[] {
    return this.all?.rollouts.filter((it) => it.state !== "ended") ?? [];
  }

  // What they depend on changes with every reading; they do not.
  #watched = $derived(fleet.run);
  #busy = $derived(this.underWay.some((it) => it.state === "going"));

  follow() {
    // What was being planned was planned for a fleet that is not on the screen any more.
    $effect(() => {
      void this.#watched;
      return () =>
        untrack(() => {
          if (this.whom)
            toast.info("The dialog was closed", { description: "It was of the fleet that was watched before. Nothing was begun." });
          this.leave();
          this.all = undefined;
        });
    });
    $effect(() => {
      const watched = this.#watched;
      const busy = this.#busy;
      if (watched === undefined) {
        this.all = undefined;
        return;
      }
      void this.read();
      const timer = setInterval(() => void this.read(), busy ? SOON_MS : EVERY_MS);
      return () => clearInterval(timer);
    });
  }

  async read() {
    try {
      this.take(await api.rollouts());
    } catch {
      // Nothing is watched any more, or not yet: the next reading tells.
    }
  }

  take(read: Rollouts) {
    const first = this.all === undefined;
    this.all = read;
    for (const it of read.rollouts) {
      const known = this.#said.get(it.name);
      this.#said.set(it.name, it.state);
      if (first || known === undefined || known === it.state) continue;
      if (it.state === "ended") toast.success(`Rollout ${it.name} has ended`, { description: it.says });
      if (it.state === "paused")
        toast.error(`Rollout ${it.name} is paused`, {
          description: it.says,
          duration: Number.POSITIVE_INFINITY,
          closeButton: true,
        });
    }
  }

  ask(whom: Whom) {
    this.plan = undefined;
    this.whom = whom;
  }

  leave() {
    this.whom = undefined;
    this.plan = undefined;
  }

  private request(terms: Terms): RolloutRequest {
    return {
      count: this.whom?.ids?.length ? 0 : terms.count,
      ids: this.whom?.ids ?? [],
      rented_before: null,
      market: { ...NO_MARKET, gpu: terms.gpu },
      offer_ids: this.whom?.offerIds ?? [],
      image: null,
      onstart: null,
      env: [],
      min_rate: null,
      dollars_per_proof_max: terms.perProof,
      at_once: terms.atOnce,
      extra_dollars_per_h: terms.budget,
      running_within_s: null,
      credit_lasts_h: null,
      why: terms.why,
    };
  }

  /** Asks what it would do. */
  async look(terms: Terms) {
    const [whom, plan] = [this.whom, await attempt(api.plan_rollout(this.request(terms)))];
    // Its dialog may have been closed, or be another one's by now.
    if (whom === this.whom) this.plan = plan;
  }

  async begin(confirmation: string) {
    if (!this.plan?.token) return;
    const read = await attempt(api.begin_rollout({ token: this.plan.token, confirmation: confirmation.trim(), why: null }));
    if (!read) {
      // What has changed, or has grown too old, is planned again: shown, and confirmed anew.
      this.plan = undefined;
      return;
    }
    this.take(read);
    this.leave();
    router.go({ view: "rollouts" });
    void acting.read();
  }

  async tell(name: string, what: "pause" | "resume" | "take_back") {
    const calls = { pause: api.pause_rollout, resume: api.resume_rollout, take_back: api.take_back_rollout };
    const read = await attempt(calls[what]({ name }));
    if (read) this.take(read);
  }
}

export const rolling = new Rolling();
