// Where the window is: a hash, so that going back works and a link can name a place.

export type Route =
  | { view: "fleet" }
  | { view: "instance"; id: string }
  | { view: "incidents"; id?: string | undefined }
  | { view: "manager-log" }
  | { view: "charts" }
  | { view: "search" }
  | { view: "journal" }
  | { view: "offers" }
  | { view: "rollouts" }
  | { view: "rentals" }
  | { view: "fleets" }
  | { view: "bench" }
  | { view: "drills" }
  | { view: "doctor" };

function parse(hash: string): Route {
  const [view, ...rest] = hash.replace(/^#\/?/, "").split("/");
  switch (view) {
    case "instance":
      return { view, id: decodeURIComponent(rest.join("/")) };
    case "incidents":
      return { view, id: rest.length > 0 ? decodeURIComponent(rest.join("/")) : undefined };
    case "manager-log":
    case "charts":
    case "search":
    case "journal":
    case "offers":
    case "rollouts":
    case "rentals":
    case "fleets":
    case "bench":
    case "drills":
    case "doctor":
      return { view };
    default:
      return { view: "fleet" };
  }
}

class Router {
  route = $state.raw<Route>(parse(location.hash));

  constructor() {
    addEventListener("hashchange", () => (this.route = parse(location.hash)));
  }

  go(route: Route) {
    const id = "id" in route && route.id !== undefined ? `/${encodeURIComponent(route.id)}` : "";
    const hash = `#/${route.view}${id}`;
    if (location.hash !== hash) location.hash = hash;
    this.route = route;
  }
}

export const router = new Router();
