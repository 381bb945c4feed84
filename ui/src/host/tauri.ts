import { Channel, invoke } from "@tauri-apps/api/core";
import type { Patch } from "../api/generated";
import type { Host } from "./index";

export const host: Host = {
  call: (name, request) => invoke(name, { request }),
  // The backend is in this window's own process: they end together.
  subscribe(ears) {
    const patches = new Channel<Patch>();
    patches.onmessage = ears.patch;
    void invoke("subscribe", { patches });
    return () => {
      patches.onmessage = () => {};
    };
  },
};
