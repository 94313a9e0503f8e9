/** A dialog of the browser: it keeps the focus, and Escape closes it. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Properties {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  class?: string;
}

export function Dialog({ title, onClose, children, class: name = "" }: Properties) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${name}`}
      aria-label={title}
      onClose={onClose}
      onClick={event => {
        if (event.target === dialog.current) dialog.current?.close();
      }}
      onKeyDown={event => event.stopPropagation()}
    >
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}
