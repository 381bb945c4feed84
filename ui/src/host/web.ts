// The loopback bridge (`dwell-web`). Its token comes once in the address and is then kept for this tab alone.

import type { Patch } from "../api/generated";
import type { Host } from "./index";

const given = /#token=([0-9a-f]+)/.exec(location.hash)?.[1];
if (given) {
  sessionStorage.setItem("token", given);
  history.replaceState(null, "", location.pathname);
}
const token = sessionStorage.getItem("token") ?? "";

export const host: Host = {
  async call(name, request) {
    const response = await fetch(`/call/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-dwell-token": token },
      body: JSON.stringify(request),
    });
    if (response.ok) return response.json();
    if (response.status === 422) throw await response.json();
    throw { code: "host", message: `the bridge answered ${response.status}`, hint: "open the address that dwell-web printed" };
  },
  subscribe(receive) {
    const stream = new EventSource(`/stream?token=${token}`);
    stream.onmessage = (message) => receive(JSON.parse(message.data) as Patch);
    return () => stream.close();
  },
};
