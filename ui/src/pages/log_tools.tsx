/** What is above a log: which output, search, errors, follow, raw. */
import { useState } from "preact/hooks";
import type { LogPart } from "../api/types";
import { bytes, count, visible } from "../logic/words";
import type { LogChoice } from "./log";

interface Properties {
  parts: readonly LogPart[];
  shownPart: string;
  choice: LogChoice;
  onChoose: (choice: LogChoice) => void;
  errors: number;
  onError: (direction: 1 | -1) => void;
  isFollowed: boolean;
  onFollow: () => void;
  onSearch: (text: string) => Promise<void>;
  rawAddress: string;
}

export function LogTools(properties: Properties) {
  const { parts, shownPart, choice, onChoose, errors, onError, isFollowed, onFollow } = properties;
  return (
    <div class="tools">
      <select
        class="field"
        aria-label="Output of"
        value={shownPart}
        onChange={event => onChoose({ ...choice, part: event.currentTarget.value })}
      >
        {parts.map(part => (
          <option key={part.part} value={part.part}>
            {partText(part)}
          </option>
        ))}
      </select>
      <fieldset class="choice">
        <legend class="hidden">Stream</legend>
        {(["out", "err"] as const).map(stream => (
          <button
            key={stream}
            type="button"
            aria-pressed={choice.stream === stream}
            onClick={() => onChoose({ ...choice, stream })}
          >
            {stream === "out" ? "Output" : "Errors"}
          </button>
        ))}
      </fieldset>
      <Search onSearch={properties.onSearch} />
      <span class="spring" />
      {errors > 0 && (
        <span class="error-buttons">
          <button type="button" class="button small" aria-label="Previous error" onClick={() => onError(-1)}>
            ↑
          </button>
          <button type="button" class="button small" onClick={() => onError(1)}>
            ↓ {count(errors, "error line")}
          </button>
        </span>
      )}
      <button type="button" class="button small" aria-pressed={isFollowed} onClick={onFollow}>
        {isFollowed ? "✓ Follow" : "Follow"}
      </button>
      <button
        type="button"
        class="button small"
        aria-pressed={choice.isRaw}
        onClick={() => onChoose({ ...choice, isRaw: !choice.isRaw })}
      >
        {choice.isRaw ? "✓ Raw" : "Raw"}
      </button>
      {properties.rawAddress && (
        <a class="button small" href={properties.rawAddress} download="log.txt">
          Download
        </a>
      )}
    </div>
  );
}

function partText(part: LogPart): string {
  const attempt = part.attempt > 1 ? ` ${part.attempt}` : "";
  return `${visible(part.step.replace(/^@/, ""))}${attempt} · ${part.outcome} · ${bytes(part.bytes)}`;
}

function Search({ onSearch }: { onSearch: (text: string) => Promise<void> }) {
  const [text, setText] = useState("");
  return (
    <form
      role="search"
      onSubmit={event => {
        event.preventDefault();
        void onSearch(text);
      }}
    >
      <input
        id="log-search"
        class="field"
        type="search"
        placeholder="Search the log"
        aria-label="Search the log"
        value={text}
        onInput={event => {
          setText(event.currentTarget.value);
          if (!event.currentTarget.value) void onSearch("");
        }}
      />
    </form>
  );
}
