import { Channel, invoke } from "@tauri-apps/api/core";
import type { Patch } from "../api/generated";
import type { Host } from "./index";

export const host: Host = {
  call: (name, request) => invoke(name, { request }),
  subscribe(receive) {
    const patches = new Channel<Patch>();
    patches.onmessage = receive;
    void invoke("subscribe", { patches });
    return () => {
      patches.onmessage = () => {};
    };
  },
};
