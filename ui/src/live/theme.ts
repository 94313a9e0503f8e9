/** Dark or light: as the system has it, or as chosen here. */
import { signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const KEY = "weft-theme";

export const theme = signal<Theme>("system");

export function startTheme(): void {
  const stored = readStored(KEY);
  setTheme(stored === "light" || stored === "dark" ? stored : "system");
}

export function setTheme(choice: Theme): void {
  theme.value = choice;
  if (choice === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = choice;
  store(KEY, choice);
}

/** Returns the next choice of the switch: system, then the other one, then back. */
export function nextTheme(choice: Theme): Theme {
  const order: Theme[] = ["system", "light", "dark"];
  return order[(order.indexOf(choice) + 1) % order.length] ?? "system";
}

// A report from disk, or a browser that forbids it, has no storage.
function readStored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function store(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // The choice then lasts as long as the page.
  }
}
