// What is done to the fleet: whether anything may be, the plan that is being looked at, and the journal.

import type { Acts, AllowActing, PlanRequest, PlanView } from "../api/generated";
import { toast } from "svelte-sonner";
import { untrack } from "svelte";
import { api } from "../api/generated";
import { attempt } from "./attempt";
import { fleet } from "./fleet.svelte";

/** How often the journal is read while something is under way, and otherwise. */
const SOON_MS = 1_500;
const EVERY_MS = 30_000;

/** For how long write access can be given, seconds; the middle one where nothing is chosen. */
export const ACCESS_S = [300, 900, 3_600] as const;

class Acting {
  acts = $state.raw<Acts | undefined>();
  /** Seconds of write access that are left, as this window counts them; the host decides. */
  leftS = $state<number | null>(null);
  /** Write access is being asked for. */
  asking = $state(false);
  /** The plan in the dialog, and what it was made from. */
  plan = $state.raw<PlanView | undefined>();
  request = $state.raw<PlanRequest | undefined>();
  /** Deeds whose end has been told. */
  #told = new Set<string>();
  #asked = 0;
  /** When write access ends, by `performance.now()`. */
  #endsAt: number | null = null;

  get mayAct(): boolean {
    return this.leftS !== null;
  }

  get underWay(): number {
    return this.acts?.acts.filter((act) => !act.done).length ?? 0;
  }

  #watched = $derived(fleet.run);
  /** Whether, and not of what: what depends on it is not done again with every reading. */
  #busy = $derived(this.underWay > 0);

  /** Reads the journal as long as something is watched. Ends with the component that began it. */
  follow() {
    // What was being planned was planned for a fleet that is not on the screen any more.
    $effect(() => {
      void this.#watched;
      return () => untrack(() => this.end());
    });
    $effect(() => {
      const watched = this.#watched;
      const busy = this.#busy;
      if (watched === undefined) {
        this.acts = undefined;
        this.#endsAt = this.leftS = null;
        return;
      }
      void this.read();
      const timer = setInterval(() => void this.read(), busy ? SOON_MS : EVERY_MS);
      return () => clearInterval(timer);
    });
    $effect(() => {
      const timer = setInterval(() => this.count(), 500);
      return () => clearInterval(timer);
    });
  }

  /** Counts write access down. Once it is over the host is asked again. */
  private count() {
    if (this.#endsAt === null) return;
    const left = (this.#endsAt - performance.now()) / 1000;
    if (left > 0) {
      this.leftS = left;
      return;
    }
    this.#endsAt = this.leftS = null;
    this.asking = false;
    toast.info("Write access has ended", { description: "The fleet is read-only again. What was begun goes on." });
    void this.read();
  }

  async read() {
    try {
      this.take(await api.acts());
    } catch {
      // Nothing is watched any more, or not yet: the next reading tells.
    }
  }

  private take(read: Acts) {
    const first = this.acts === undefined;
    this.acts = read;
    this.leftS = read.write_access_left_s;
    this.#endsAt = read.write_access_left_s === null ? null : performance.now() + read.write_access_left_s * 1000;
    for (const act of read.acts) {
      const key = `${act.plan} ${act.target}`;
      if (!act.done || this.#told.has(key)) continue;
      this.#told.add(key);
      if (first) continue;
      const words = { description: act.text };
      if (act.phase === "verified" || act.phase === "taken") toast.success(`${act.deed}: ${act.target.slice(0, 18)}`, words);
      else
        toast.error(`${act.deed}: ${act.target.slice(0, 18)} — ${act.phase}`, {
          ...words,
          duration: Number.POSITIVE_INFINITY,
          closeButton: true,
        });
    }
  }

  /** Asks what would be done, and shows it. */
  async ask(deed: string, ids: string[], text: string | null = null, why: string | null = null) {
    const request = { deed, ids, text, why };
    const mine = (this.#asked += 1);
    const plan = await attempt(api.plan(request));
    // What was asked last is shown, whichever answer comes last.
    if (plan && mine === this.#asked) [this.request, this.plan] = [request, plan];
  }

  leave() {
    this.#asked += 1;
    this.plan = undefined;
    this.request = undefined;
  }

  /** The watch has ended: its dialogs close, and its journal is not the next one's. */
  private end() {
    const had = this.plan !== undefined || this.asking;
    this.leave();
    this.asking = false;
    this.acts = undefined;
    this.#endsAt = this.leftS = null;
    if (had) toast.info("The dialog was closed", { description: "It was of the fleet that was watched before. Nothing was done." });
  }

  /** Gives write access for a time: the confirmed step of its own. */
  async allow(forS: number) {
    this.asking = false;
    await this.change({ allow: true, for_s: forS, standing: false });
  }

  /** Gives it back at once. */
  async giveBack() {
    await this.change({ allow: false, for_s: null, standing: false });
  }

  /** Whether rules and `dwellctl` may act on this fleet at any time. */
  async allowStanding(allow: boolean) {
    await this.change({ allow, for_s: null, standing: true });
  }

  private async change(wanted: AllowActing) {
    const acts = await attempt(api.allow_acting(wanted));
    if (acts) this.take(acts);
    // The plan was made for the other mode.
    if (this.request) await this.ask(this.request.deed, this.request.ids, this.request.text, this.request.why);
  }

  /** Carries out the plan that is shown, and no other: a reason goes into the journal with it. */
  async carryOut(confirmation: string, why: string) {
    const [plan, request] = [this.plan, this.request];
    if (!plan?.token || !request) return;
    const acts = await attempt(
      api.carry_out({ token: plan.token, confirmation: confirmation.trim() || null, why: why.trim() || null }),
    );
    if (acts) {
      this.take(acts);
      this.leave();
      return;
    }
    // What has grown too old is planned again: shown, and confirmed anew.
    await this.ask(request.deed, request.ids, request.text, request.why);
  }
}

export const acting = new Acting();

/** What containers put out and, where that is allowed, what their machines tell: kept word for word in the history. */
export async function saveOutput(ids: string[], at: (id: string | undefined) => void) {
  let saved = 0;
  for (const id of ids) {
    at(id);
    if (await attempt(api.make_look({ id, check: "container-log" }))) saved += 1;
    // Machines that may not be looked at are left alone: that they may not is no fault.
    await api.make_look({ id, check: "ssh-probe" }).catch(() => undefined);
  }
  at(undefined);
  if (saved > 0)
    toast.success(`What ${saved === 1 ? "1 instance" : `${saved} instances`} could tell is kept`, {
      description: "On each one's page, under what was asked on purpose.",
    });
}
