/** Where the page is: the address, behind `#` in a report. */
import { computed, signal } from "@preact/signals";
import { parseRoute } from "../logic/routes";
import { currentReport } from "./report";

const address = signal("/");

export const route = computed(() => parseRoute(address.value));

function readAddress(): string {
  if (currentReport()) return location.hash.slice(1) || "/";
  return location.pathname + location.search;
}

/** Returns the address as a link needs it. */
export function href(to: string): string {
  return currentReport() ? `#${to}` : to;
}

export function go(to: string): void {
  if (to === address.value) return;
  if (currentReport()) {
    location.hash = to;
    return;
  }
  history.pushState(null, "", to);
  address.value = to;
  window.scrollTo(0, 0);
}

/** Changes the address without an entry in the history: the line of a log, for example. */
export function replaceAddress(to: string): void {
  if (currentReport() || to === address.value) return;
  history.replaceState(null, "", to);
  address.value = to;
}

/** Follows links inside the page without loading it again. */
export function startNavigation(): void {
  address.value = readAddress();
  window.addEventListener("popstate", () => {
    address.value = readAddress();
  });
  window.addEventListener("hashchange", () => {
    address.value = readAddress();
  });
  document.addEventListener("click", event => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey)
      return;
    const link = (event.target as Element).closest?.("a");
    const target = link?.getAttribute("href");
    if (!link || !target?.startsWith("/") || target.startsWith("/api/") || link.hasAttribute("download"))
      return;
    event.preventDefault();
    go(target);
  });
}
