// The answers of the API; generated from the Python types by `make format`.

export type NeedKind = "budget" | "conflict" | "failed" | "held" | "landing" | "limit" | "question" | "stopped" | "verify";

export type ActionKind = "answer" | "merge" | "pause" | "resume" | "retry" | "stop";

export type ShownState = "asking" | "completed" | "conflict" | "failed" | "held" | "pending" | "running";

export type Tone = "dependency" | "landing" | "person" | "pool" | "running";

/** How a state is shown. The shape and the word say it without the colour. */
export interface Sign {
  symbol: string;
  /** For a terminal without Unicode. */
  ascii: string;
  word: string;
  /** `cyan`, `green`, `red`, `yellow` or `dim`. */
  colour: string;
}

/** Something that a person can do. Each is a command, and most are also a request to the server. */
export interface Action {
  /** As on a button: `Yes`, `Land`, `Retry`. */
  label: string;
  /** The command line that does it. */
  command: string;
  /** The request that does the same; null for what has to be done in a terminal. */
  post: ActionKind | null;
  /** The body of the request. */
  body: Readonly<Partial<Record<string, string | boolean | ReadonlyArray<string>>>>;
  /** Whether a person should be asked again first. */
  is_confirmed: boolean;
  /** Whether the body may have a `text`, which goes to the agent or becomes the result of the step. */
  takes_text: boolean;
}

/** A card of the list "needs you". */
export interface Need {
  kind: NeedKind;
  /** The subplan; empty for the whole plan. */
  path: string;
  row: number;
  step: string;
  /** What is needed, in a few words. */
  title: string;
  /** Why, in a sentence or two. */
  reason: string;
  /** The last lines of the output that explains it, or the rest of a question. */
  lines: ReadonlyArray<string>;
  /** The files in conflict, or in the way. */
  files: ReadonlyArray<string>;
  since: number | null;
  /** Whether work waits for it; a usage limit, for example, ends by itself. */
  is_urgent: boolean;
  actions: ReadonlyArray<Action>;
}

/** When a run will be over and what it will have cost, as P50 and P90. */
export interface FinishForecast {
  /** When it was computed. */
  at: number;
  finish: [number, number];
  /** The spending of the whole run by then; zeros if nothing costs anything, or its price is unknown. */
  cost: [number, number];
}

/** The money and tokens of a run. An amount in dollars is in millionths. */
export interface RunCosts {
  /** What counts against the ceiling: the spending of this run, and of earlier runs since the last reset. */
  spent: number;
  /** The part of it that earlier runs have spent. */
  earlier: number;
  /** Reserved for running steps and for calls that did not report their cost. */
  reserved: number;
  ceiling: number | null;
  /** Agent calls that did not report their cost. */
  unknown: number;
  tokens: number;
  reserved_tokens: number;
  token_ceiling: number | null;
}

/** The line above everything. */
export interface Strip {
  run: string;
  plan: string;
  goal: string;
  /** `pending`, `running`, `stopping`, `stopped`, `completed`, `failed` or `abandoned`. */
  state: string;
  /** Whether a coordinator runs it now. */
  is_active: boolean;
  /** Whether a person has paused all of it. */
  is_paused: boolean;
  started_at: number;
  ended_at: number | null;
  /** The seconds that it has run, without the time in which it was stopped, at the time `at`. */
  seconds: number;
  at: number;
  costs: RunCosts;
  /** Slices by shown state; of those that have failed, `blocked` and `cancelled` are counted apart. */
  counts: Readonly<Partial<Record<string, number>>>;
  slices: number;
  /** The branch on which results land; empty without one. */
  target: string;
  /** How many things need a person. */
  needs: number;
  forecast: FinishForecast | null;
}

/** The subplans of a run; entry n of each column belongs to row n. */
export interface SubplanColumns {
  path: ReadonlyArray<string>;
  /** The row of the group around it; -1 for the whole plan. */
  parent: ReadonlyArray<number>;
  /** Whether it is a slice. */
  leaf: ReadonlyArray<boolean>;
  /** It waits for those of these rows, and of those of the groups around it, that are not completed. */
  depends_on: ReadonlyArray<ReadonlyArray<number>>;
  /** The steps of its pipeline; 0 for a group. */
  step_total: ReadonlyArray<number>;
  state: ReadonlyArray<ShownState>;
  /** Of a failure: `error`, `cancelled`, `blocked` or another one. By row; others have none. */
  reason: Readonly<Partial<Record<number, string>>>;
  /** The running step, by row. */
  step: Readonly<Partial<Record<number, string>>>;
  /** How many steps of its pipeline have ended. */
  step_number: ReadonlyArray<number>;
  /** The attempt of the running step, by row. */
  attempt: Readonly<Partial<Record<number, number>>>;
  /** The largest number of attempts that the step may have, by row; absent if unknown. */
  attempt_limit: Readonly<Partial<Record<number, number>>>;
  /** The start of its step, or the last change of its state. */
  since: ReadonlyArray<number | null>;
  started_at: ReadonlyArray<number | null>;
  ended_at: ReadonlyArray<number | null>;
  /** With that of its parts. */
  cost: ReadonlyArray<number>;
  /** Agent calls without a known cost, by row. */
  unknown_costs: Readonly<Partial<Record<number, number>>>;
  tokens: ReadonlyArray<number>;
  /** `unmerged`, `merged` (into its group), `held`, `conflict`, or a place as `landed bd7e5b6`. By row. */
  landing: Readonly<Partial<Record<number, string>>>;
  /** Why it failed, is held, asks or is paused, in one line. By row. */
  note: Readonly<Partial<Record<number, string>>>;
  /** The rows that an earlier run completed. */
  carried: ReadonlyArray<number>;
  /** The rows that a person has paused, frozen or stopped. */
  paused: ReadonlyArray<number>;
}

/** A row that has changed. A field that is absent has its default, as in a snapshot. */
export interface RowChange {
  row: number;
  state?: ShownState;
  reason?: string;
  step?: string;
  step_number?: number;
  attempt?: number;
  attempt_limit?: number;
  since?: number | null;
  started_at?: number | null;
  ended_at?: number | null;
  cost?: number;
  unknown_costs?: number;
  tokens?: number;
  landing?: string;
  note?: string;
  carried?: boolean;
  paused?: boolean;
}

/** What a running step does, as its output shows. */
export interface Activity {
  /** One readable line, as `edits src/store.py`. */
  text: string;
  /** When something was last heard of it. */
  at: number;
}

/** A run at one moment. */
export interface Snapshot {
  /** The last event in it; a stream continues from here. */
  seq: number;
  strip: Strip;
  needs: ReadonlyArray<Need>;
  subplans: SubplanColumns;
  /** By row, for running steps. */
  activity: Readonly<Partial<Record<number, Activity>>>;
  signs: Readonly<Partial<Record<ShownState, Sign>>>;
}

/** What has changed since the last increment, or since the snapshot. */
export interface Increment {
  seq: number;
  strip: Strip;
  rows: ReadonlyArray<RowChange>;
  /** All needs; null if they are as before. */
  needs: ReadonlyArray<Need> | null;
}

/** What the running steps do now; it replaces what was known before. */
export interface ActivityUpdate {
  activity: Readonly<Partial<Record<number, Activity>>>;
}

/** A run in the list of runs. */
export interface RunRow {
  run: string;
  plan: string;
  state: string;
  /** Whether a coordinator runs it now. */
  is_active: boolean;
  created_at: number;
  ended_at: number | null;
  /** How long it took; null if it has not ended. */
  seconds: number | null;
  slices: number;
  /** Slices by state. */
  counts: Readonly<Partial<Record<string, number>>>;
  cost: number;
  unknown_costs: number;
  tokens: number;
  /** What was to be expected when it started; null if that is unknown. */
  forecast: RunForecast | null;
}

/** The forecast with which a run started, as P50 and P90. */
export interface RunForecast {
  seconds: [number, number];
  cost: [number, number];
}

/** The runs of a project, the newest first. */
export interface RunList {
  /** The name of its directory. */
  project: string;
  /** Whether requests that change something are refused. */
  read_only: boolean;
  runs: ReadonlyArray<RunRow>;
  /** How many older runs there are. */
  more: number;
  /** The command that starts a run here. */
  start_command: string;
}

/** Events of the journal, in order. */
export interface EventPage {
  /** As `weft events --json` prints them. */
  events: ReadonlyArray<Readonly<Partial<Record<string, unknown>>>>;
  /** The `after` of the next page; null at the end. */
  next: number | null;
  /** All kinds of events that there are. */
  kinds: ReadonlyArray<string>;
}

/** The spending of an agent, a model, a group or a slice. */
export interface CostRow {
  name: string;
  cost: number;
  tokens: number;
  calls: number;
  /** Calls that did not report their cost. */
  unknown: number;
  /** The part of the cost that went into attempts that failed. */
  failed: number;
}

/** The spending at one time. */
export interface CostPoint {
  at: number;
  spent: number;
  reserved: number;
}

/** The spending of a run over time, and by agent, model, group and slice. */
export interface CostTables {
  costs: RunCosts;
  /** At most 500, the last of them now. Spending changes in steps. */
  points: ReadonlyArray<CostPoint>;
  /** Beyond now: time, P50 and P90 of the spending; empty without a forecast. */
  cone: ReadonlyArray<[number, number, number]>;
  agents: ReadonlyArray<CostRow>;
  models: ReadonlyArray<CostRow>;
  groups: ReadonlyArray<CostRow>;
  /** The 200 that cost most. */
  slices: ReadonlyArray<CostRow>;
}

/** A step that holds something of a pool. */
export interface PoolHolder {
  path: string;
  /** Empty for a slice that has its slot and runs no step. */
  step: string;
  items: ReadonlyArray<string>;
  since: number;
}

/** A slice or a step that waits for a pool. */
export interface PoolWaiter {
  path: string;
  /** Empty for a slice that has not started. */
  step: string;
  since: number;
}

/** The use of a pool. */
export interface PoolTable {
  /** As in the plan: `max_parallel`, `GROUP.max_parallel`, `agents.NAME` or `pools.NAME`. */
  name: string;
  size: number;
  in_use: number;
  /** At most 100. */
  holders: ReadonlyArray<PoolHolder>;
  /** At most 100, the longest wait first. */
  waiters: ReadonlyArray<PoolWaiter>;
  /** The number of all that wait for it. */
  waiting: number;
  /** The share of its capacity that was in use since the start, from 0 to 1. */
  used: number;
  /** From when on so many were in use; at most 500 changes. */
  history: ReadonlyArray<[number, number]>;
}

export interface Pools {
  pools: ReadonlyArray<PoolTable>;
}

/** Two subplans that have changed the same files differently, or are going to. */
export interface ConflictPair {
  first: string;
  second: string;
  files: ReadonlyArray<string>;
  /** Whether it is expected, or holds the second subplan. */
  state: "ahead" | "conflict";
  first_title: string;
  second_title: string;
}

export interface Conflicts {
  pairs: ReadonlyArray<ConflictPair>;
}

/** The time that a plan takes with another `max_parallel`. */
export interface WidthAnswer {
  width: number;
  seconds: number;
  cost: number;
}

/** How busy a limit is, and what one more of it is worth. */
export interface PoolAnswer {
  name: string;
  size: number;
  used: number;
  /** The seconds that work waits for it, in a mean run. */
  waiting: number;
  /** Seconds, P50. */
  saving: number | null;
}

/** A forecast of what is left of a plan or a run. */
export interface Forecast {
  /** When it was computed; the finish is counted from here. */
  at: number;
  replications: number;
  /** P10, P50 and P90. */
  seconds: [number, number, number];
  /** P50 and P90. */
  cost: [number, number];
  /** What is left of the ceiling. */
  ceiling: number | null;
  /** The share of runs that the ceiling stops. */
  ceiling_share: number;
  /** The share of runs that complete everything. */
  completed_share: number;
  widths: ReadonlyArray<WidthAnswer>;
  /** The `max_parallel` beyond which more buys little. */
  enough: number | null;
  limits: ReadonlyArray<PoolAnswer>;
  /** The chains of slices that end last, and the share of runs in which they do. */
  chains: ReadonlyArray<[string, number]>;
  /** What the forecast rests on, in a sentence. */
  basis: string;
}

/** One execution of a step. */
export interface Attempt {
  step: string;
  attempt: number;
  /** 1, or more if the attempt was interrupted. */
  execution: number;
  firing: number;
  /** `agent`, `run`, `merge` and so on. */
  action: string;
  agent: string;
  model: string;
  command: string;
  started_at: number;
  ended_at: number | null;
  /** `running`, or how it ended: `done`, `failed`, `rejected`, `timeout` and so on. */
  outcome: string;
  /** What went wrong. */
  message: string;
  /** What it learned about the failure before it; empty for a first attempt. */
  feedback: string;
  exit_code: number | null;
  /** The last lines of its output, if it did not succeed. */
  tail: ReadonlyArray<string>;
  /** null if unknown. */
  cost: number | null;
  tokens: number | null;
  /** The conversation of the agent. */
  session: string;
  has_output: boolean;
}

/** A step of the pipeline. */
export interface StepRow {
  name: string;
  state: "done" | "failed" | "pending" | "running" | "skipped";
  /** `agent coder`, `run`, `verify` and so on. */
  kind: string;
}

/** A subplan that another one waits for. */
export interface WaitLink {
  path: string;
  state: ShownState;
  /** Why it has not completed, in one line. */
  why: string;
  /** How many subplans are between it and the one that was asked about. */
  depth: number;
}

/** A pool without room for the work of a subplan. */
export interface LackedPool {
  name: string;
  /** The step that needs it; empty for the start of a slice. */
  step: string;
  /** At most 20. */
  holders: ReadonlyArray<PoolHolder>;
  /** Holders beyond these. */
  more: number;
}

/** Why a subplan is where it is. */
export interface Why {
  sentence: string;
  /** What it waits for, up to what runs; at most 50. */
  chain: ReadonlyArray<WaitLink>;
  /** Dependencies beyond these. */
  more: number;
  /** The pools that it waits for. */
  pools: ReadonlyArray<LackedPool>;
}

/** Everything about a subplan but its log and its changes. */
export interface SubplanDetail {
  path: string;
  row: number;
  title: string;
  leaf: boolean;
  state: ShownState;
  reason: string;
  message: string;
  /** The subplan or step that made it fail, if that was another one. */
  cause: string;
  landing: string;
  /** Where it has landed; empty if it has not. */
  commit: string;
  branch: string;
  /** The patterns of files that it declares. */
  files: ReadonlyArray<string>;
  depends_on: ReadonlyArray<string>;
  /** At most 100. */
  needed_by: ReadonlyArray<string>;
  cost: number;
  unknown_costs: number;
  tokens: number;
  started_at: number | null;
  ended_at: number | null;
  steps: ReadonlyArray<StepRow>;
  /** In order; the last 500. */
  attempts: ReadonlyArray<Attempt>;
  why: Why;
  /** As the plan has it. */
  prompt: string;
  needs: ReadonlyArray<Need>;
  /** What can be done with it now. */
  actions: ReadonlyArray<Action>;
}

/** An output that can be read: one execution of a step. */
export interface LogPart {
  step: string;
  attempt: number;
  /** Identifies it in requests. */
  part: string;
  outcome: string;
  started_at: number;
  /** Of both streams, as far as they are kept. */
  bytes: number;
}

/** A line of output. */
export interface LogLine {
  /** The byte at which it starts; in readable logs, that of the activity. `at` and `index` identify the line. */
  at: number;
  /** The number of the line among those with the same `at`. */
  index?: number;
  /** Without its line end; at most 4,000 characters. It may hold ANSI sequences and anything else. */
  text: string;
  stream?: "err" | "out";
  /** In readable logs `tool`, `says`, `thinks`, `detail` (more of a thought), `reports` or `prints`. */
  kind?: string;
  /** Whether it looks like an error. */
  is_error?: boolean;
  /** Whether the line is longer than its text. */
  is_cut?: boolean;
}

/** A piece of a log. */
export interface LogPage {
  path: string;
  part: string;
  /** All outputs of the subplan, the newest last. */
  parts: ReadonlyArray<LogPart>;
  stream: "err" | "out";
  /** The byte of the first line. */
  start: number;
  /** The byte after the last line: the `from` of the next request. */
  end: number;
  /** The bytes that the stream has by now. */
  size: number;
  /** Bytes in the middle that were not kept; null until the step has ended. */
  left_out: number | null;
  /** The byte at which they are missing. */
  gap_at: number | null;
  /** Whether nothing more will come. */
  is_ended: boolean;
  /** Whether the request asked for the stream as it was written; otherwise an agent's activities are shown. */
  is_raw: boolean;
  lines: ReadonlyArray<LogLine>;
}

/** Lines that contain a text. */
export interface LogMatches {
  part: string;
  stream: "err" | "out";
  /** The true number of matching lines. */
  total: number;
  /** Whether all of the log was searched; a very long log is searched for a limited time. */
  is_whole: boolean;
  /** The first 500 of them, after `from`. */
  lines: ReadonlyArray<LogLine>;
}

/** A changed file. */
export interface FileRow {
  path: string;
  status: "added" | "changed" | "deleted";
  /** Lines; null for a binary file. */
  added: number | null;
  removed: number | null;
  is_committed: boolean;
}

/** The change of one file. */
export interface FileDiffText {
  path: string;
  /** As git writes it; empty for a binary file and for one that is too large. */
  text: string;
  is_binary: boolean;
  /** Whether it has more than 3,000 changed lines; `force=1` shows it anyway. */
  is_too_large: boolean;
}

/** The changes of a subplan. */
export interface ChangeSet {
  path: string;
  branch: string;
  /** The two commits. */
  start: string;
  head: string;
  /** The commit from which the last attempt started; empty if there was only one. */
  last_attempt: string;
  /** At most 300, unless `force=1`. */
  files: ReadonlyArray<FileRow>;
  /** Files beyond these. */
  more: number;
  added: number;
  removed: number;
  /** Whether it has more than 3,000 lines or 300 files. */
  is_large: boolean;
  /** The file that was asked for. */
  file: FileDiffText | null;
}

/** Bars as columns; entry n of each belongs to bar n. The bars of a row are in order, and do not overlap. */
export interface Bars {
  row: ReadonlyArray<number>;
  /** Seconds since the start of the run. */
  start: ReadonlyArray<number>;
  /** The same; `now` for a bar that has not ended. */
  end: ReadonlyArray<number>;
  /** An index into `tones`. */
  tone: ReadonlyArray<number>;
  /** An index into `labels`: the step; -1 without one. */
  label: ReadonlyArray<number>;
  /** Of a step; 0 without one. A bar with 2 or more is a retry. */
  attempt: ReadonlyArray<number>;
  /** The numbers of the bars whose step failed. */
  is_bad: ReadonlyArray<number>;
}

/** What a token of a pool or an agent did: a row of the timeline by pools. */
export interface TimelineLane {
  pool: string;
  token: string;
  /** Row of the subplan, start and end in seconds since the start of the run. */
  bars: ReadonlyArray<[number, number, number]>;
}

/** What happened when. */
export interface Timeline {
  seq: number;
  started_at: number;
  /** Seconds since the start, as are all times of bars. */
  now: number;
  is_over: boolean;
  tones: ReadonlyArray<Tone>;
  labels: ReadonlyArray<string>;
  bars: Bars;
  /** When each row has landed on the target. */
  landed: Readonly<Partial<Record<number, number>>>;
  /** The rows of the chain that ended last, or will, in order. */
  critical: ReadonlyArray<number>;
  /** With `by=pool`; otherwise empty. */
  lanes: ReadonlyArray<TimelineLane>;
  forecast: FinishForecast | null;
}

/** A box of the graph, at a place that the server has chosen. */
export interface GraphNode {
  id: string;
  /** A slice; a box that the slices of a group or of some siblings share; or the frame around a group. */
  kind: "folded" | "frame" | "slice";
  /** The subplan; of siblings that share a box, the first path and the id of the last. */
  path: string;
  /** As much of the name as has room. */
  label: string;
  note: string;
  x: number;
  y: number;
  width: number;
  height: number;
  /** The first and the last row of the plan that it stands for; their states give its state. */
  span: [number, number];
}

/** An arrow: the second waits for the first. */
export interface GraphEdge {
  source: string;
  target: string;
  /** As the path data of SVG. */
  line: string;
  /** Whether it is for the sake of order only: both change the same files. */
  is_order: boolean;
  /** Of a net: whether a pool gets back what the transition takes. */
  is_claim: boolean;
  label: string;
}

/** What depends on what, with places. */
export interface Graph {
  width: number;
  height: number;
  nodes: ReadonlyArray<GraphNode>;
  edges: ReadonlyArray<GraphEdge>;
  /** Whether several slices share a box. */
  is_folded: boolean;
  /** The group that is drawn; empty for the whole plan. */
  of: string;
}

export interface NetPlace {
  id: string;
  /** As much of the name as has room. */
  label: string;
  x: number;
  y: number;
  tokens: number;
  kind: "end" | "place" | "pool";
}

export interface NetTransition {
  id: string;
  label: string;
  /** `agent`, `run`, `merge` and so on; empty for a transition that takes no time. */
  action: string;
  x: number;
  y: number;
  /** How many firings are under way. */
  firing: number;
}

/** The net of one subplan with its tokens. */
export interface NetGraph {
  of: string;
  width: number;
  height: number;
  /** Whether the tokens are known; otherwise there are none. */
  is_live: boolean;
  places: ReadonlyArray<NetPlace>;
  transitions: ReadonlyArray<NetTransition>;
  edges: ReadonlyArray<GraphEdge>;
}

/** Lines of `weft check` under one heading. */
export interface CheckSection {
  title: string;
  lines: ReadonlyArray<string>;
}

/** The plan before its start. */
export interface PlanAnswer {
  plan: string;
  file: string;
  /** Why it cannot run; empty if it can. */
  problems: ReadonlyArray<string>;
  sections: ReadonlyArray<CheckSection>;
  graph: Graph | null;
  /** With `simulate=1`. */
  forecast: Forecast | null;
  /** Slices that earlier runs have completed, by path. */
  states: Readonly<Partial<Record<string, ShownState>>>;
  start_command: string;
}

/** A run for Perfetto and other viewers of traces. */
export interface ChromeTrace {
  traceEvents: ReadonlyArray<Readonly<Partial<Record<string, unknown>>>>;
  displayTimeUnit: "ms";
}

/** How much a subplan has changed. */
export interface DiffStat {
  path: string;
  files: number;
  added: number;
  removed: number;
  /** Where it has landed; empty if it has not. */
  commit: string;
}

/** Everything about a run that a report shows. */
export interface RunReport {
  run: RunRow;
  snapshot: Snapshot;
  timeline: Timeline;
  costs: CostTables;
  pools: Pools;
  conflicts: Conflicts;
  /** Of the whole plan, folded if that is large. */
  graph: Graph;
  /** The subplans that failed or need a person, with the ends of their logs; at most 200. */
  details: Readonly<Partial<Record<string, SubplanDetail>>>;
  /** Of subplans that have landed or have work that has not; at most 1,000. */
  diffs: ReadonlyArray<DiffStat>;
}

/** The contents of the file. */
export interface ReportFile {
  weft: 1;
  /** Of Weft. */
  version: string;
  made_at: number;
  run: RunReport | null;
  /** A simulation. */
  plan: PlanAnswer | null;
}

/** Why a request was refused. */
export interface Problem {
  message: string;
  /** What to do about it. */
  hint: string;
  /** Names that may have been meant. */
  nearest: ReadonlyArray<string>;
}

/** The answer to a request that was refused. */
export interface Refusal {
  weft: 1;
  error: Problem;
}

/** The answer to every other request; `data` is one of the shapes of this API. */
export interface AnswerEnvelope {
  weft: 1;
  data: unknown;
}

/** The body of `POST …/answer`. */
export interface AnswerRequest {
  /** The question: `SUBPLAN` or `SUBPLAN:STEP`. */
  name: string;
  reply: "no" | "yes";
  text?: string;
}

/** The body of `POST …/merge`. */
export interface MergeBody {
  /** The subplans; empty for everything that is held. */
  names?: ReadonlyArray<string>;
  now?: boolean;
}

/** The body of `POST …/pause`, `…/resume` and `…/stop`. */
export interface ControlBody {
  /** The subplans; empty for the whole run. */
  names?: ReadonlyArray<string>;
  /** Of `…/stop`: without grace. Of `…/pause`: halts running processes. */
  now?: boolean;
  /** Of `…/resume`: ends the usage limits of agents instead. */
  limits?: boolean;
}

/** The body of `POST …/retry`. */
export interface RetryRequest {
  /** The subplans; empty for everything that has failed. */
  names?: ReadonlyArray<string>;
  /** Feedback for the agent; the first attempt reads it. */
  text?: string;
  /** Stops an active run first, which continues in a new run with the feedback. */
  stop?: boolean;
  fresh_budget?: boolean;
}

/** The result of a request that changes something: that of the command which does the same. */
export interface CommandResult {
  /** The command line. */
  command: string;
  /** null if it is still under way. */
  exit_code: number | null;
  /** What the command prints with `--json`. */
  data: Readonly<Partial<Record<string, unknown>>> | null;
  /** What it says to people. */
  messages: ReadonlyArray<string>;
}

/** The server itself. */
export interface ServerInfo {
  version: string;
  project: string;
  read_only: boolean;
  last_run: string | null;
}
