/** Keys. The page that is shown registers its keys last, so they come before those of the frame. */
import { useEffect, useRef } from "preact/hooks";

export interface KeyBinding {
  key: string;
  /** What it does, as the help says it. */
  does: string;
  run: () => void;
}

interface Layer {
  bindings: readonly KeyBinding[];
}

const layers: Layer[] = [];

/** Registers keys while a component is shown. Those of the frame are below all others. */
export function useKeys(bindings: readonly KeyBinding[], isFrame = false): void {
  const layer = useRef<Layer>({ bindings });
  // A key that is pressed right after a change already finds the new bindings.
  layer.current.bindings = bindings;
  useEffect(() => {
    const own = layer.current;
    if (isFrame) layers.unshift(own);
    else layers.push(own);
    return () => {
      layers.splice(layers.indexOf(own), 1);
    };
  }, []);
}

/** Returns the keys that work now, each once. */
export function activeKeys(): KeyBinding[] {
  const shown = new Map<string, KeyBinding>();
  for (const layer of layers.toReversed()) {
    for (const binding of layer.bindings) if (!shown.has(binding.key)) shown.set(binding.key, binding);
  }
  return [...shown.values()];
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null
  );
}

let prefix = "";

function onKey(event: KeyboardEvent): void {
  if (event.key === "k" && (event.ctrlKey || event.metaKey)) {
    run("Ctrl-K", event);
    return;
  }
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  // In a dialog the browser's own keys hold.
  if (document.querySelector("dialog[open]")) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") (event.target as HTMLElement).blur();
    return;
  }
  // Enter and Space belong to the button or link that has the focus.
  const isControl =
    event.target instanceof HTMLElement && event.target.closest("button, a, summary") !== null;
  if (event.key === "Enter" && isControl) return;
  const key = prefix + event.key;
  prefix = "";
  if (!run(key, event) && event.key === "g") prefix = "g ";
}

function run(key: string, event: KeyboardEvent): boolean {
  for (const layer of layers.toReversed()) {
    const binding = layer.bindings.find(candidate => candidate.key === key);
    if (!binding) continue;
    event.preventDefault();
    binding.run();
    return true;
  }
  return false;
}

export function startKeys(): void {
  document.addEventListener("keydown", onKey);
}
