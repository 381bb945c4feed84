import { beforeEach, expect, test, vi } from "vitest";
import type { PlanRequest } from "../api/generated";

const plans: PlanRequest[] = [];
const carried: unknown[] = [];
let outcome: "done" | "plan-gone" = "done";

vi.mock("../host", () => ({
  asApiError: (thrown: unknown) => thrown,
  subscribe: () => () => {},
  call: async (name: string, request: unknown) => {
    if (name === "plan") {
      plans.push(request as PlanRequest);
      return {
        token: `token ${plans.length}`,
        deed: "kill",
        sentence: "",
        steps: [],
        saves_dollars_per_h: null,
        destructive: true,
        confirm_with: "abc",
        read_only: false,
      };
    }
    carried.push(request);
    if (outcome === "plan-gone") throw { code: "plan-gone", message: "too old", hint: null };
    return { may_act: true, acts: [] };
  },
}));

const { acting } = await import("./acts.svelte");

beforeEach(() => {
  plans.length = 0;
  carried.length = 0;
  acting.leave();
});

test("the plan that is shown is the one that is carried out, whatever reason is typed", async () => {
  outcome = "done";
  await acting.ask("kill", ["abcdef"], null, "incident: 1 stalled");
  await acting.carryOut("abc", " it hangs ");
  expect(plans).toHaveLength(1);
  expect(carried).toEqual([{ token: "token 1", confirmation: "abc", why: "it hangs" }]);
  expect(acting.plan).toBeUndefined();
});

test("a plan that has grown too old is shown anew and not carried out with the old confirmation", async () => {
  outcome = "plan-gone";
  await acting.ask("kill", ["abcdef"]);
  await acting.carryOut("abc", "");
  expect(carried).toEqual([{ token: "token 1", confirmation: "abc", why: null }]);
  expect(acting.plan?.token).toBe("token 2");
});
