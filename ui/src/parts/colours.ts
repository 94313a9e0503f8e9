/** Colours of the style sheet for a canvas, which does not understand `light-dark()` and custom properties. */

/** Returns a function from the name of a custom property to its colour in the present theme. */
export function colourReader(element: HTMLElement): (property: string) => string {
  const known = new Map<string, string>();
  return property => {
    const cached = known.get(property);
    if (cached !== undefined) return cached;
    const probe = document.createElement("span");
    probe.style.color = `var(${property})`;
    (element.parentElement ?? document.body).append(probe);
    const colour = getComputedStyle(probe).color;
    probe.remove();
    known.set(property, colour);
    return colour;
  };
}
