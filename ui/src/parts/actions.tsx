/** Buttons, each with the command that does the same, and the dialogs that some of them need. */
import { useState } from "preact/hooks";
import type { Action } from "../api/types";
import { asked, begin, canAct, copy, message, perform, takesText, underWay } from "../live/operations";
import { Dialog } from "./dialog";

export function ActionButton({ action, isMain = false }: { action: Action; isMain?: boolean }) {
  const isBusy = underWay.value !== null;
  return (
    <button
      type="button"
      class={`button ${isMain ? "primary" : ""}`}
      disabled={isBusy || !canAct()}
      title={action.command}
      onClick={() => begin(action)}
    >
      {underWay.value === action ? `${action.label} …` : action.label}
    </button>
  );
}

export function Command({ text }: { text: string }) {
  return (
    <button type="button" class="command" title="Copy this command" onClick={() => void copy(text)}>
      <code>{text}</code>
      <span class="hidden">, copy</span>
    </button>
  );
}

/** The buttons of a card, and the commands for all of them. */
export function Actions({ actions }: { actions: readonly Action[] }) {
  const buttons = actions.filter(action => action.post !== null);
  return (
    <div class="actions">
      {canAct() && buttons.length > 0 && (
        <div class="buttons">
          {buttons.map((action, index) => (
            <ActionButton key={action.command} action={action} isMain={index === 0} />
          ))}
        </div>
      )}
      <details class="commands" open={!canAct() || buttons.length === 0}>
        <summary>{actions.length === 1 ? "As a command" : "As commands"}</summary>
        <ul>
          {actions.map(action => (
            <li key={action.command}>
              <span class="soft">{action.label}</span> <Command text={action.command} />
            </li>
          ))}
        </ul>
      </details>
    </div>
  );
}

export function ActionDialog() {
  const action = asked.value;
  const [text, setText] = useState("");
  if (!action) return null;
  const close = (): void => {
    asked.value = null;
    setText("");
  };
  return (
    <Dialog key={action.command} title={action.label} onClose={close}>
      <h2>{action.label}</h2>
      <p class="soft">
        The same as <code>{action.command}</code>
      </p>
      {takesText(action) && (
        <label>
          Text for the agent (optional)
          <textarea class="field" value={text} onInput={event => setText(event.currentTarget.value)} />
        </label>
      )}
      <div class="buttons end">
        <button type="button" class="button" onClick={close}>
          Cancel
        </button>
        <button
          type="button"
          class="button primary"
          onClick={() => {
            void perform(action, text);
            setText("");
          }}
        >
          {action.label}
        </button>
      </div>
    </Dialog>
  );
}

export function MessageBar() {
  const shown = message.value;
  return (
    <div class="message-place" aria-live="polite">
      {shown && (
        <div class={`message ${shown.isBad ? "is-bad" : ""}`}>
          <pre>{shown.text}</pre>
          <button
            type="button"
            class="button plain small"
            onClick={() => {
              message.value = null;
            }}
          >
            Close
          </button>
        </div>
      )}
    </div>
  );
}
