// The loopback bridge (`dwell-web`). Its token comes once in the address and is then kept for this tab alone.

import type { Host } from "./index";
import { Line, type Ears } from "./line";

const given = /#token=([0-9a-f]+)/.exec(location.hash)?.[1];
if (given) {
  sessionStorage.setItem("token", given);
  history.replaceState(null, "", location.pathname);
}
const token = sessionStorage.getItem("token") ?? "";
let line: Line | undefined;

const gone = (message: string) => ({ code: "backend-gone", message, hint: "it is asked for again by itself" });

export const host: Host = {
  async call(name, request) {
    if (line?.lost) throw gone("Dwell's backend does not answer: nothing was sent to it");
    let response: Response;
    try {
      response = await fetch(`/call/${name}`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-dwell-token": token },
        body: JSON.stringify(request),
        signal: line?.calls ?? null,
      });
    } catch {
      line?.suspect();
      throw gone("Dwell's backend did not answer: whether it heard this is not known");
    }
    if (response.ok) return response.json();
    if (response.status === 422) throw await response.json();
    throw { code: "host", message: `the bridge answered ${response.status}`, hint: "open the address that dwell-web printed" };
  },
  subscribe(ears: Ears) {
    line = new Line(() => new EventSource(`/stream?token=${token}`), ears);
    return line.start();
  },
};
