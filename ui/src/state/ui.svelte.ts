// What the window remembers of itself: theme, filter, selection, open overlays.

export type Theme = "system" | "light" | "dark";

function stored<T extends string>(key: string, allowed: readonly T[], otherwise: T): T {
  const value = localStorage.getItem(key);
  return allowed.find((known) => known === value) ?? otherwise;
}

class Ui {
  theme = $state<Theme>(stored("theme", ["system", "light", "dark"], "system"));
  filter = $state("");
  showKilled = $state(stored("killed", ["yes", "no"], "no") === "yes");
  selected = $state<string | undefined>();
  palette = $state(false);
  help = $state(false);

  setTheme(theme: Theme) {
    this.theme = theme;
    localStorage.setItem("theme", theme);
    this.applyTheme();
  }

  applyTheme() {
    document.documentElement.dataset.theme = this.theme;
  }

  nextTheme() {
    this.setTheme(this.theme === "system" ? "light" : this.theme === "light" ? "dark" : "system");
  }

  setShowKilled(show: boolean) {
    this.showKilled = show;
    localStorage.setItem("killed", show ? "yes" : "no");
  }
}

export const ui = new Ui();
