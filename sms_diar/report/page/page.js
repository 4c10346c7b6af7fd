"use strict";
// The script of a report page. It reads the JSON of the page, draws on canvases, plays,
// and edits a copy of the turns. Names come from strangers: they only ever become text
// nodes, attribute values and canvas text, never markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const sound = $("sound");

  // --- small helpers -----------------------------------------------------------------

  function el(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (name === "className") made.className = value;
      else if (value === true) made.setAttribute(name, "");
      else if (value !== false && value != null) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child != null));
    return made;
  }
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  const percent = (share, digits = 1) =>
    share == null ? "–" : `${(100 * share).toFixed(digits)} %`;

  function clock(seconds, digits = 1) {
    const scale = 10 ** digits;
    const units = Math.round(seconds * scale);
    const whole = Math.floor(units / scale);
    const rest = digits ? `.${String(units % scale).padStart(digits, "0")}` : "";
    const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
    const tail = `${String(s).padStart(2, "0")}${rest}`;
    return h ? `${h}:${String(m).padStart(2, "0")}:${tail}` : `${m}:${tail}`;
  }
  function bytesOf(text) {
    const raw = atob(text.trim());
    const bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return bytes;
  }
  function say(text) {
    $("say").textContent = text;
  }

  // --- colours and patterns ------------------------------------------------------------

  // The style sheet has seven colours that colour-blind readers can distinguish. The eighth
  // speaker gets the first colour again, with a pattern and another marker.
  const KINDS = ["missed", "false alarm", "confusion"];
  const patterns = new Map();
  let dark = false;

  const patternOf = (style) => Math.floor(style / 7) % 5;
  const known = new Map(); // asking for a computed style thousands of times is slow
  function css(name) {
    if (!known.has(name)) {
      const style = getComputedStyle(document.documentElement);
      known.set(name, style.getPropertyValue(name).trim());
    }
    return known.get(name);
  }
  const colourOf = (style) => css(`--c${style % 7}`);

  function tile(key, paint) {
    const name = `${key}/${dark}`;
    if (!patterns.has(name)) {
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = 8;
      const pen = canvas.getContext("2d");
      paint(pen);
      patterns.set(name, pen.createPattern(canvas, "repeat"));
    }
    return patterns.get(name);
  }
  function strokes(pen, colour, width, lines) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    for (const [x, y, u, v] of lines) {
      pen.moveTo(x, y);
      pen.lineTo(u, v);
    }
    pen.stroke();
  }
  const RISING = [[-2, 10, 10, -2], [-2, 2, 2, -2], [6, 10, 10, 6]];
  const FALLING = [[-2, -2, 10, 10], [-2, 6, 2, 10], [6, -2, 10, 2]];
  function fillOf(style) {
    const colour = colourOf(style);
    const turn = patternOf(style);
    if (!turn) return colour;
    return tile(`speaker ${style % 35}`, (pen) => {
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 8, 8);
      const over = css("--over");
      if (turn === 1) strokes(pen, over, 2, RISING);
      if (turn === 2) strokes(pen, over, 1.4, [...RISING, ...FALLING]);
      if (turn === 3) strokes(pen, over, 2, [[4, 0, 4, 8]]);
      if (turn === 4) {
        pen.fillStyle = over;
        pen.fillRect(1, 1, 3, 3);
        pen.fillRect(5, 5, 3, 3);
      }
    });
  }
  function errorFill(kind) {
    const colour = css("--bad");
    if (kind === 0) return colour;
    return tile(`error ${kind}`, (pen) => {
      strokes(pen, colour, kind === 1 ? 2.6 : 1.5, kind === 1 ? RISING : [...RISING, ...FALLING]);
    });
  }
  const unresolvedFill = () => tile("unresolved", (pen) => strokes(pen, css("--soft"), 1.5, RISING));
  function chip(paint) {
    const canvas = el("canvas", { className: "chip", width: 32, height: 32, "aria-hidden": "true" });
    canvas.paint = () => {
      const pen = canvas.getContext("2d");
      pen.setTransform(2, 0, 0, 2, 0, 0);
      pen.clearRect(0, 0, 16, 16);
      paint(pen);
    };
    canvas.paint();
    return canvas;
  }
  // Lists of speakers are coloured by classes: a canvas for each entry takes seconds to make.
  const classOf = (style) => `c${style % 7} p${patternOf(style)}`;
  const speakerChip = (style) =>
    el("span", { className: `chip ${classOf(style)}`, "aria-hidden": "true" });
  function errorChip(kind) {
    return chip((pen) => {
      pen.fillStyle = errorFill(kind);
      pen.fillRect(0, 0, 16, 16);
      pen.strokeStyle = css("--bad");
      pen.strokeRect(0.5, 0.5, 15, 15);
    });
  }

  // --- the recording that is shown, and what was changed ---------------------------------

  const works = data.recordings.map((recording) => {
    const speakers = recording.speakers.map((name, style) => ({ name, style }));
    const turns = recording.turns.map(([start, end, place, sure]) => ({
      start, end, speaker: speakers[place], sure,
    }));
    const work = {
      recording, speakers, turns, undone: [], done: [], edited: false, saved: true, savedWords: true,
      styles: speakers.length, peaks: null, url: null, prefix: "",
    };
    work.unresolved = recording.unresolved.map(([start, end]) => ({ start, end }));
    const prefix = `${recording.name}-`;
    if (recording.speakers.every((name) => name.startsWith(prefix))) work.prefix = prefix;
    work.words = work.readWords = wordsOf(recording, speakers);
    if (recording.wave) work.peaks = bytesOf(recording.wave.peaks);
    if (recording.score) {
      const mine = new Map(recording.score.pairs.map(([theirs, true_]) => [true_, theirs]));
      let next = speakers.length;
      work.reference = recording.score.speakers.map((name, place) => ({
        name, partner: mine.has(place) ? speakers[mine.get(place)] : null,
        style: mine.has(place) ? mine.get(place) : next++,
      }));
      work.styles = next;
      work.truth = recording.score.turns.map(([start, end, place]) => ({
        start, end, speaker: work.reference[place],
      }));
      work.errors = recording.score.errors.map(([start, end, kind, ref, hyp]) => ({
        start, end, kind,
        ref: ref.map((place) => recording.score.speakers[place]),
        hyp: hyp.map((place) => recording.speakers[place]),
        wrong: [...ref.map((place) => work.reference[place]), ...hyp.map((place) => speakers[place])],
      }));
    }
    return work;
  });
  let work = works[0];
  let chosen = null;
  let view = { from: 0, to: 1 };
  let lanes = [];
  let figures = null;
  let longestError = 0;

  function shown(name) {
    const { prefix } = work;
    return name.startsWith(prefix) && name.length > prefix.length ? name.slice(prefix.length) : name;
  }
  const isDoubtful = (turn) => turn.sure != null && turn.sure < data.doubtful;
  const duration = () => work.recording.duration;

  function snapshot() {
    return {
      turns: work.turns.map((turn) => ({ ...turn })),
      speakers: work.speakers.map((one) => ({ ...one, self: one })),
      place: work.turns.indexOf(chosen),
      words: work.words,
    };
  }
  function restore(kept) {
    // Speakers keep their identity, so that turns of both states point to the same ones.
    work.speakers = kept.speakers.map(({ self, ...rest }) => Object.assign(self, rest));
    work.turns = kept.turns.map((turn) => ({ ...turn }));
    work.words = kept.words;
    chosen = work.turns[kept.place] || null;
  }
  function change(what, act, ofWords = false) {
    work.done.push({ ...snapshot(), ofWords });
    if (work.done.length > 200) work.done.shift();
    work.undone = [];
    act();
    settle(what);
  }
  function settle(what) {
    work.turns.sort((a, b) => a.start - b.start || a.end - b.end);
    const speaking = new Set([...work.turns, ...(work.words || [])].map((one) => one.speaker));
    work.speakers = work.speakers.filter((one) => speaking.has(one));
    work.edited = work.done.some((kept) => !kept.ofWords);
    work.saved = !work.edited;
    work.savedWords = work.words === work.readWords;
    if (chosen && !work.turns.includes(chosen)) chosen = null;
    refresh();
    if (what) say(what);
  }
  function exchange(from, to, what) {
    if (!from.length) return;
    const kept = from.pop();
    to.push({ ...snapshot(), ofWords: kept.ofWords });
    restore(kept);
    settle(what);
  }
  const undo = () => exchange(work.done, work.undone, "Undone");
  const redo = () => exchange(work.undone, work.done, "Done again");

  // A field of RTTM holds no white space; the class is what Python splits at.
  const cleanName = (text) =>
    text.trim().replace(/[\s\u0000-\u001f\u0085\u007f]+/gu, "_").replace(/^_+$/u, "");

  function rename(speaker, text) {
    const name = cleanName(text);
    if (!name) return say("A speaker needs a name"), refresh();
    if (name === speaker.name) return refresh();
    const other = work.speakers.find((one) => one !== speaker && (one.name === name || shown(one.name) === name));
    if (other) return merge(speaker, other);
    change(`Renamed to ${name}`, () => {
      speaker.name = name;
    });
  }
  function merge(speaker, into) {
    change(`Merged ${shown(speaker.name)} into ${shown(into.name)}`, () => {
      for (const turn of work.turns) if (turn.speaker === speaker) turn.speaker = into;
      moveWords((word) => word.speaker === speaker, { speaker: into });
      joinOverlaps(into);
    });
  }
  // Two turns of one speaker must not overlap: merged speakers may have spoken at once.
  function joinOverlaps(speaker) {
    const own = work.turns.filter((turn) => turn.speaker === speaker);
    own.sort((a, b) => a.start - b.start);
    let last = null;
    for (const turn of own) {
      if (last && turn.start < last.end) {
        last.end = Math.max(last.end, turn.end);
        if (chosen === turn) chosen = last;
        work.turns.splice(work.turns.indexOf(turn), 1);
      } else last = turn;
    }
  }
  function newSpeaker() {
    const taken = new Set(work.speakers.map((one) => one.name));
    let number = 1;
    while (taken.has(`new-${number}`)) number++;
    const made = { name: `new-${number}`, style: work.styles++ };
    work.speakers.push(made);
    return made;
  }
  function assign(turn, speaker) {
    if (speaker === turn.speaker) return;
    change(`Turn given to ${speaker ? shown(speaker.name) : "a new speaker"}`, () => {
      const before = turn.speaker;
      turn.speaker = speaker || newSpeaker();
      turn.sure = null;
      moveWords((word) => word.speaker === before && isWithin(word, turn), { speaker: turn.speaker, sure: null });
      joinOverlaps(turn.speaker);
    });
  }
  function retime(turn, start, end) {
    if (!(start >= 0 && end > start)) {
      say("A turn must end after it starts");
      return refresh();
    }
    change("Times changed", () => {
      turn.start = start;
      turn.end = end;
      joinOverlaps(turn.speaker);
    });
  }
  function remove(turn) {
    const next = neighbour(1) || neighbour(-1);
    change("Turn removed", () => {
      work.turns.splice(work.turns.indexOf(turn), 1);
      chosen = next === turn ? null : next;
    });
  }
  function split(turn, at) {
    if (!turn || at <= turn.start + 0.01 || at >= turn.end - 0.01) {
      return say("Put the playhead inside the turn to split it");
    }
    const cut = Math.round(at * 1000) / 1000;
    change(`Turn split at ${clock(cut, 2)}`, () => {
      const later = { ...turn, start: cut };
      turn.end = cut;
      work.turns.push(later);
      chosen = later;
    });
  }

  // --- RTTM --------------------------------------------------------------------------------

  function rttm() {
    const lines = [];
    for (const one of works) {
      const times = new Set(one.turns.flatMap((turn) => [turn.start, turn.end]));
      const count = (digits) => new Set([...times].map((time) => time.toFixed(digits))).size;
      let digits = 3;
      while (digits < 9 && count(digits) < count(9)) digits++;
      const units = (time) => BigInt(time.toFixed(digits).replace(".", ""));
      const text = (value) => {
        const figures_ = String(value).padStart(digits + 1, "0");
        return `${figures_.slice(0, -digits)}.${figures_.slice(-digits)}`;
      };
      for (const turn of one.turns) {
        const [start, end] = [units(turn.start), units(turn.end)];
        const speaker = cleanName(turn.speaker.name) || "unnamed";
        const name = cleanName(one.recording.name) || "recording";
        lines.push(`SPEAKER ${name} 1 ${text(start)} ${text(end - start)} <NA> <NA> ${speaker} <NA> <NA>\n`);
      }
    }
    return lines.join("");
  }
  function save(text, name, suffix) {
    const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    const link = el("a", { href: url, download: `${name.replace(/[\\/:*?"<>|]/gu, "_")}.${suffix}` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }
  function download() {
    save(rttm(), works.length === 1 ? cleanName(work.recording.name) || "recording" : "turns", "rttm");
    for (const one of works) one.saved = true;
    say("RTTM downloaded");
  }

  // --- figures of the turns ------------------------------------------------------------------

  function measure() {
    const events = [];
    const per = new Map(work.speakers.map((one) => [one, { time: 0, turns: 0, longest: 0, sure: 0, known: 0 }]));
    for (const turn of work.turns) {
      events.push([turn.start, 1], [turn.end, -1]);
      const mine = per.get(turn.speaker);
      const length = turn.end - turn.start;
      mine.time += length;
      mine.turns++;
      mine.longest = Math.max(mine.longest, length);
      if (turn.sure != null) {
        mine.sure += turn.sure * length;
        mine.known += length;
      }
    }
    events.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    let [speech, overlap, active, last] = [0, 0, 0, 0];
    for (const [time, step] of events) {
      if (active > 0) speech += time - last;
      if (active > 1) overlap += time - last;
      active += step;
      last = time;
    }
    const total = work.turns.reduce((sum, turn) => sum + turn.end - turn.start, 0);
    return { speech, overlap, total, per, doubtful: work.turns.filter(isDoubtful).length };
  }

  // --- lanes -------------------------------------------------------------------------------

  // Long lists of lanes scroll. The canvas is only as high as the part in view, because
  // browsers limit the size of a canvas; the axis stays at the top.
  const canvas = $("timeline");
  const stage = $("stage");
  const AXIS = 24;
  const WAVE = 56;
  const GROUP = 22;
  const UNRESOLVED = "more people talk than can be told apart";

  function layOut() {
    const wanted = (work.reference ? work.reference.length : 0) + work.speakers.length;
    const height = wanted > 24 ? 16 : wanted > 12 ? 21 : 28;
    lanes = [{ kind: "axis", height: AXIS, label: "" }];
    if (work.unresolved.length) {
      lanes.push({ kind: "unresolved", height: 12, turns: work.unresolved, longest: longestOf(work.unresolved) });
    }
    if (work.peaks) lanes.push({ kind: "wave", height: WAVE, label: "" });
    if (work.reference) {
      lanes.push({ kind: "group", height: GROUP, label: "Reference" });
      const truth = bySpeaker(work.reference, work.truth);
      for (const [speaker, turns] of truth) {
        lanes.push({ kind: "truth", height, speaker, turns, longest: longestOf(turns) });
      }
      lanes.push({ kind: "group", height: GROUP, label: "Found" });
    }
    for (const [speaker, turns] of bySpeaker(work.speakers, work.turns)) {
      lanes.push({ kind: "found", height, speaker, turns, longest: longestOf(turns) });
    }
    if (work.errors) {
      longestError = longestOf(work.errors);
      const errors = new Map(lanes.map((lane) => [lane.speaker, []]));
      for (const error of work.errors) for (const speaker of error.wrong) errors.get(speaker)?.push(error);
      for (const lane of lanes) lane.errors = errors.get(lane.speaker);
      lanes.push({ kind: "errors", height: 38, turns: work.errors, longest: longestError });
    }
    let top = 0;
    for (const lane of lanes) {
      lane.top = top;
      top += lane.height;
    }
    const column = $("lanes");
    column.replaceChildren(...lanes.map((lane) => {
      const row = el("div", { className: lane.kind === "group" ? "group" : "" });
      row.style.height = `${lane.height}px`;
      if (lane.speaker) {
        row.dataset.lane = lane.kind;
        row.title = lane.speaker.name;
        row.append(speakerChip(lane.speaker.style), el("b", {}, shown(lane.speaker.name)));
      } else if (lane.kind === "errors") {
        row.dataset.lane = "errors";
        row.append(el("b", {}, "Errors"));
      } else if (lane.kind === "unresolved") {
        row.dataset.lane = "unresolved";
        row.title = UNRESOLVED;
      } else row.append(lane.label);
      return row;
    }));
    canvas.parentElement.style.height = `${top}px`;
  }
  function bySpeaker(speakers, turns) {
    const groups = new Map(speakers.map((speaker) => [speaker, []]));
    for (const turn of turns) groups.get(turn.speaker).push(turn);
    return groups;
  }
  const longestOf = (turns) => turns.reduce((most, turn) => Math.max(most, turn.end - turn.start), 0);

  // Places of the turns that may reach into a stretch: turns are sorted by their starts.
  function inView(turns, longest, from, to) {
    let [low, high] = [0, turns.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (turns[middle].start < from - longest) low = middle + 1;
      else high = middle;
    }
    const found = [];
    for (let i = low; i < turns.length && turns[i].start < to; i++) {
      if (turns[i].end > from) found.push(turns[i]);
    }
    return found;
  }

  // --- drawing -----------------------------------------------------------------------------

  function fit(target) {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [target.clientWidth, target.clientHeight];
    if (target.width !== Math.round(width * ratio) || target.height !== Math.round(height * ratio)) {
      target.width = Math.round(width * ratio);
      target.height = Math.round(height * ratio);
    }
    const pen = target.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    return [pen, width, height];
  }
  const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];
  const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif";

  // The highest of each 32 peaks, so that hours are not gone through for every picture.
  const COARSE = 32;
  function coarsePeaks() {
    if (!work.coarse) {
      work.coarse = new Uint8Array(Math.ceil(work.peaks.length / COARSE));
      work.peaks.forEach((peak, i) => {
        const at = Math.floor(i / COARSE);
        if (peak > work.coarse[at]) work.coarse[at] = peak;
      });
    }
    return work.coarse;
  }
  function drawWave(pen, left, width, top, height, from, to) {
    const fine = ((to - from) / width) * work.recording.wave.perSecond < 2 * COARSE;
    const peaks = fine ? work.peaks : coarsePeaks();
    const perSecond = work.recording.wave.perSecond / (fine ? 1 : COARSE);
    const middle = Math.round(top + height / 2);
    pen.fillStyle = css("--wave");
    for (let x = 0; x < width; x++) {
      const first = Math.floor((from + ((to - from) * x) / width) * perSecond);
      const last = Math.max(first + 1, Math.floor((from + ((to - from) * (x + 1)) / width) * perSecond));
      let peak = 0;
      for (let i = Math.max(first, 0); i < last && i < peaks.length; i++) {
        if (peaks[i] > peak) peak = peaks[i];
      }
      // The root shows quiet speech beside loud.
      const half = Math.max(0.5, Math.round(2 * Math.sqrt(peak / 255) * (height / 2 - 2)) / 2);
      pen.fillRect(left + x, middle - half, 1, 2 * half);
    }
  }
  // Collects small pieces of one row and paints those that touch as one, edges on whole
  // pixels: thousands of pieces become at most one rectangle for every other pixel.
  function row(pen, top, height, paint) {
    const ratio = window.devicePixelRatio || 1;
    let [first, last] = [0, -1];
    const flush = () => {
      if (last <= first) return;
      paint();
      pen.fillRect(first / ratio, top, (last - first) / ratio, height);
      pen.globalAlpha = 1;
    };
    return {
      add(left, right) {
        const from = Math.floor(left * ratio);
        const to = Math.max(Math.ceil(right * ratio), from + 1);
        if (from > last || last < first) {
          flush();
          [first, last] = [from, to];
        } else if (to > last) last = to;
      },
      end: flush,
    };
  }
  function block(pen, x, y, w, h, radius) {
    pen.beginPath();
    if (w > 2 * radius) pen.roundRect(x, y, w, h, radius);
    else pen.rect(x, y, w, h);
  }

  function drawTimeline() {
    const [pen, width, height] = fit(canvas);
    const { from, to } = view;
    const scale = width / (to - from);
    const x = (time) => (time - from) * scale;
    const [ink, soft, line, lane_] = ["--ink", "--soft", "--line", "--lane"].map(css);
    pen.font = FONT;
    pen.textBaseline = "middle";
    // The label at either edge is moved inwards by half its width, towards its neighbour.
    const least = Math.max(70, 12 + 1.5 * pen.measureText(clock(to)).width) / scale;
    const step = STEPS.find((one) => one >= least) || 3600 * Math.ceil(least / 3600);
    const below = stage.scrollTop;
    const visible = lanes.filter((lane) => lane.top + lane.height > below + AXIS && lane.top < below + height);
    const scrolled = (act) => {
      pen.save();
      pen.beginPath();
      pen.rect(0, AXIS, width, height - AXIS);
      pen.clip();
      pen.translate(0, -below);
      visible.forEach(act);
      pen.restore();
    };
    scrolled((lane) => {
      if (!lane.turns) return;
      pen.fillStyle = lane_;
      pen.fillRect(0, lane.top + 2, width, lane.height - 4);
    });
    pen.fillStyle = soft;
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const place = Math.round(x(at)) + 0.5;
      pen.strokeStyle = line;
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(place, AXIS - 6);
      pen.lineTo(place, height);
      pen.stroke();
      const text = clock(at, step < 1 ? 1 : 0);
      const wide = pen.measureText(text).width;
      pen.fillText(text, clamp(place - wide / 2, 4, width - wide - 4), 9);
    }
    scrolled((lane) => {
      if (lane.kind === "wave") drawWave(pen, 0, width, lane.top, lane.height, from, to);
      if (lane.kind === "truth" || lane.kind === "found") {
        drawLane(pen, lane, x, width);
        if (work.errors && !work.edited) underline(pen, lane, x);
      }
      if (lane.kind === "errors") drawErrors(pen, lane, x);
      if (lane.kind === "unresolved") {
        const fill = unresolvedFill();
        for (const { start, end } of inView(lane.turns, lane.longest, from, to)) {
          pen.fillStyle = fill;
          pen.fillRect(x(start), lane.top + 2, Math.max(x(end) - x(start), 1), lane.height - 4);
        }
      }
    });
    const now = x(head());
    if (now >= -1 && now <= width + 1) {
      pen.fillStyle = ink;
      pen.fillRect(Math.round(now) - 0.5, 4, 1.5, height - 4);
      pen.beginPath();
      pen.moveTo(now - 5, 2);
      pen.lineTo(now + 5, 2);
      pen.lineTo(now, 10);
      pen.fill();
    }
    canvas.dataset.from = from;
    canvas.dataset.to = to;
    canvas.dataset.chosen = chosen ? work.turns.indexOf(chosen) : -1;
  }
  function drawLane(pen, lane, x, width) {
    const [top, high] = [lane.top + 3, lane.height - 6];
    const fill = fillOf(lane.speaker.style);
    const colour = colourOf(lane.speaker.style);
    const label = shown(lane.speaker.name);
    const wide = pen.measureText(label).width;
    const sure = row(pen, top, high, () => {
      pen.fillStyle = fill;
    });
    const unsure = row(pen, top, high, () => {
      pen.globalAlpha = 0.4;
      pen.fillStyle = fill;
    });
    for (const turn of inView(lane.turns, lane.longest, view.from, view.to)) {
      const [left, right] = [Math.max(x(turn.start), -4), Math.min(x(turn.end), width + 4)];
      const w = Math.max(right - left, 1.2);
      const doubtful = isDoubtful(turn);
      if (w < 8 && turn !== chosen) {
        (doubtful ? unsure : sure).add(left, left + w);
        continue;
      }
      block(pen, left, top, w, high, 4);
      pen.fillStyle = fill;
      pen.globalAlpha = doubtful ? 0.28 : 1;
      pen.fill();
      pen.globalAlpha = 1;
      if (doubtful) {
        pen.setLineDash([3, 2]);
        pen.strokeStyle = colour;
        pen.lineWidth = 1.5;
        pen.stroke();
        pen.setLineDash([]);
      }
      const text = doubtful ? "?" : label;
      const room = doubtful ? 12 : wide + 14;
      if (w > room && high > 12) {
        const solid = !doubtful && lane.speaker.style < 7;
        const at = Math.max(left, 0) + (doubtful ? 4 : 7);
        if (!doubtful && !solid) {
          // Behind words, no pattern.
          pen.fillStyle = colour;
          pen.fillRect(at - 3, top + 2, wide + 6, high - 4);
        }
        if (at + (doubtful ? 8 : wide) < right) {
          pen.fillStyle = doubtful ? css("--ink") : inkOn(lane.speaker.style);
          pen.fillText(text, at, top + high / 2 + 0.5);
        }
      }
      if (turn === chosen) {
        block(pen, left - 1, top - 1.5, w + 2, high + 3, 5);
        pen.strokeStyle = css("--ink");
        pen.lineWidth = 2;
        pen.stroke();
      }
    }
    sure.end();
    unsure.end();
  }
  // Mark the errors of a speaker by a line at the bottom of the lane.
  function underline(pen, lane, x) {
    const line = row(pen, lane.top + lane.height - 4, 3, () => {
      pen.fillStyle = css("--bad");
    });
    for (const error of inView(lane.errors, longestError, view.from, view.to)) {
      line.add(x(error.start), x(error.end));
    }
    line.end();
  }
  // White or black, whichever is read more easily on the colour.
  function inkOn(style) {
    const [r, g, b] = [1, 3, 5].map((at) => {
      const part = parseInt(colourOf(style).slice(at, at + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.2 ? "#101317" : "#ffffff";
  }
  function drawErrors(pen, lane, x) {
    const third = (lane.height - 5) / 3;
    const rows = KINDS.map((_, kind) => {
      const fill = errorFill(kind);
      return row(pen, lane.top + 3 + third * kind, third - 2, () => {
        pen.fillStyle = fill;
      });
    });
    for (const error of inView(lane.turns, lane.longest, view.from, view.to)) {
      rows[error.kind].add(x(error.start), x(error.end));
    }
    for (const one of rows) one.end();
  }

  const overview = $("overview");
  let backdrop = null;
  function paintBackdrop(width, height, whole) {
    backdrop = document.createElement("canvas");
    backdrop.width = overview.width;
    backdrop.height = overview.height;
    const pen = backdrop.getContext("2d");
    pen.scale(overview.width / Math.max(width, 1), overview.height / Math.max(height, 1));
    if (work.peaks) drawWave(pen, 0, width, 0, height - 10, 0, whole);
    const top = work.peaks ? height - 10 : 8;
    const high = work.peaks ? 7 : height - 16;
    for (const turn of work.turns) {
      pen.fillStyle = colourOf(turn.speaker.style);
      pen.fillRect((turn.start / whole) * width, top, Math.max(((turn.end - turn.start) / whole) * width, 0.6), high);
    }
  }
  function drawOverview() {
    const [pen, width, height] = fit(overview);
    const whole = duration();
    // What does not change while one moves about is drawn once.
    if (!backdrop || backdrop.width !== overview.width || backdrop.height !== overview.height) {
      paintBackdrop(width, height, whole);
    }
    if (width) pen.drawImage(backdrop, 0, 0, width, height);
    const [left, right] = [(view.from / whole) * width, (view.to / whole) * width];
    pen.fillStyle = css("--shade");
    pen.fillRect(left, 0, right - left, height);
    pen.strokeStyle = css("--accent");
    pen.lineWidth = 2;
    pen.strokeRect(left + 1, 1, Math.max(right - left - 2, 3), height - 2);
    pen.fillStyle = css("--ink");
    pen.fillRect(((head()) / whole) * width, 0, 1.5, height);
    const place = Math.round((100 * (view.from + view.to)) / 2 / whole);
    overview.setAttribute("aria-valuenow", place);
    overview.setAttribute("aria-valuetext", `${clock(view.from, 0)} to ${clock(view.to, 0)}`);
  }

  // --- the view of windows --------------------------------------------------------------------

  const map = $("map");
  let owners = [];

  function ownWindows() {
    if (!work.recording.map) return;
    const longest = longestOf(work.turns);
    owners = work.recording.map.times.map(([start, end]) => {
      let [best, most] = [null, 0];
      for (const turn of inView(work.turns, longest, start, end)) {
        const shared = Math.min(end, turn.end) - Math.max(start, turn.start);
        if (shared > most) [best, most] = [turn, shared];
      }
      return best;
    });
  }
  function mapPlaces() {
    const grid = work.recording.map.grid;
    const [width, height] = [map.clientWidth, map.clientHeight];
    const side = Math.min(width, height) - 28;
    // Wide pictures are stretched sideways a little: the plane has no scale of its own.
    const wide = Math.min(width - 28, side * 1.6);
    return (x, y) => [
      (width - wide) / 2 + (x / grid) * wide,
      height - ((height - side) / 2 + (y / grid) * side),
    ];
  }
  function marker(pen, style, x, y, r) {
    const shape = Math.floor(style / 7) % 4;
    pen.beginPath();
    if (shape === 0) pen.arc(x, y, r, 0, 2 * Math.PI);
    if (shape === 1) pen.rect(x - r, y - r, 2 * r, 2 * r);
    if (shape === 2) {
      pen.moveTo(x, y - 1.3 * r);
      pen.lineTo(x + 1.2 * r, y + r);
      pen.lineTo(x - 1.2 * r, y + r);
      pen.closePath();
    }
    if (shape === 3) {
      pen.moveTo(x, y - 1.4 * r);
      pen.lineTo(x + 1.4 * r, y);
      pen.lineTo(x, y + 1.4 * r);
      pen.lineTo(x - 1.4 * r, y);
      pen.closePath();
    }
  }
  function drawMap() {
    const shownMap = work.recording.map;
    if (!shownMap) return;
    const [pen] = fit(map);
    const place = mapPlaces();
    const many = shownMap.points.length > 400;
    shownMap.points.forEach((point, i) => {
      const [x, y] = place(...point);
      const owner = owners[i];
      const style = owner ? owner.speaker.style : 6;
      const doubtful = shownMap.confidence && shownMap.confidence[i] < data.doubtful;
      marker(pen, style, x, y, many ? 2.6 : 4);
      pen.fillStyle = doubtful ? css("--lane") : colourOf(style);
      pen.fill();
      pen.lineWidth = doubtful ? 1.6 : 0.8;
      pen.strokeStyle = doubtful ? colourOf(style) : css("--lane");
      pen.stroke();
      if (chosen && owner === chosen) {
        pen.strokeStyle = css("--ink");
        pen.lineWidth = 1.6;
        marker(pen, style, x, y, many ? 4.5 : 6.5);
        pen.stroke();
      }
    });
  }

  let waiting = false;
  function draw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      drawTimeline();
      drawOverview();
      trackWord();
      $("clock").textContent = clock(head());
    });
  }

  // --- sound -------------------------------------------------------------------------------

  let cursor = 0; // the playhead where there is no sound
  let stopAt = null;
  let hasSound = false;
  const head = () => (hasSound ? sound.currentTime : cursor);

  function loadSound() {
    sound.pause();
    stopAt = null;
    cursor = 0;
    const where = work.recording.audio;
    if (!work.url && where && where.href) work.url = where.href;
    if (!work.url && where && where.id) {
      const bytes = bytesOf($(where.id).textContent);
      work.url = URL.createObjectURL(new Blob([bytes], { type: where.type }));
    }
    hasSound = Boolean(work.url);
    if (hasSound) sound.src = work.url;
    else sound.removeAttribute("src");
    $("play").disabled = !hasSound;
    $("turn-play").disabled = !hasSound;
    $("audio-open").hidden = hasSound;
  }
  function seek(time) {
    cursor = clamp(time, 0, duration());
    if (hasSound) sound.currentTime = cursor;
    draw();
  }
  function play(from, to) {
    if (!hasSound) return say("There is no audio in this page: open the audio file to listen");
    stopAt = to == null ? null : to;
    if (from != null) sound.currentTime = from;
    sound.dataset.from = from == null ? sound.currentTime : from;
    sound.play().catch((problem) => say(`The audio cannot be played: ${problem.message}`));
  }
  function toggle() {
    if (hasSound && !sound.paused) return sound.pause();
    play(null, null);
  }
  function playTurn(turn) {
    if (turn) play(turn.start, turn.end);
  }
  function watch() {
    if (stopAt != null && sound.currentTime >= stopAt) {
      sound.pause();
      stopAt = null;
    }
    if (!sound.paused) {
      const now = sound.currentTime;
      if (now > view.to || now < view.from) show(now, now);
      requestAnimationFrame(watch);
    }
    draw();
  }
  sound.addEventListener("play", () => {
    $("play").textContent = "❚❚ Pause";
    $("play").setAttribute("aria-label", "Pause");
    requestAnimationFrame(watch);
  });
  sound.addEventListener("pause", () => {
    $("play").textContent = "▶ Play";
    $("play").setAttribute("aria-label", "Play");
    draw();
  });
  sound.addEventListener("timeupdate", () => {
    if (stopAt != null && sound.currentTime >= stopAt) watch(); // tabs in the background
  });
  sound.addEventListener("error", () => {
    if (!hasSound) return;
    hasSound = false;
    work.url = null;
    $("play").disabled = true;
    $("audio-open").hidden = false;
    say("The audio of this page cannot be read: open the audio file");
  });
  $("audio-file").addEventListener("change", (event) => {
    const [file] = event.target.files;
    if (!file) return;
    work.url = URL.createObjectURL(file);
    loadSound();
    draw();
  });

  // --- zoom, choice --------------------------------------------------------------------------

  function setView(from, to) {
    const least = Math.min(0.5, duration());
    const width = clamp(to - from, least, duration());
    const start = clamp(from, 0, duration() - width);
    view = { from: start, to: start + width };
    draw();
  }
  function zoom(factor, around) {
    const middle = around == null ? (view.from + view.to) / 2 : around;
    setView(middle - (middle - view.from) / factor, middle + (view.to - middle) / factor);
  }
  function show(start, end) {
    const width = Math.max(view.to - view.from, Math.min(1.3 * (end - start), duration()));
    if (start >= view.from && end <= view.to) return;
    setView((start + end) / 2 - width / 2, (start + end) / 2 + width / 2);
  }
  // Scroll to the lane of a turn.
  function reveal(turn) {
    const lane = lanes.find((one) => one.speaker === turn.speaker && one.kind === "found");
    const [low, high] = [lane.top + lane.height - canvas.clientHeight, lane.top - AXIS];
    stage.scrollTop = clamp(stage.scrollTop, low, high);
  }
  function choose(turn, quiet) {
    chosen = turn;
    if (turn) {
      show(turn.start, turn.end);
      reveal(turn);
      if (!hasSound || sound.paused) seek(turn.start);
      if (!quiet) {
        const sure = turn.sure == null ? "" : `, confidence ${percent(turn.sure, 0)}`;
        const doubt = isDoubtful(turn) ? ", doubtful" : "";
        say(`Turn ${work.turns.indexOf(turn) + 1} of ${work.turns.length}, ` +
          `${shown(turn.speaker.name)}, from ${clock(turn.start)} to ${clock(turn.end)}${sure}${doubt}`);
      }
    }
    fillTurn();
    fillTable(true);
    drawMap();
    draw();
  }
  function neighbour(step) {
    if (chosen) return work.turns[work.turns.indexOf(chosen) + step];
    const next = work.turns.findIndex((turn) => turn.start >= view.from);
    return work.turns[step > 0 ? next : next - 1] || work.turns[0];
  }
  function nextDoubtful() {
    const from = chosen ? work.turns.indexOf(chosen) + 1 : 0;
    const order = [...work.turns.slice(from), ...work.turns.slice(0, from)];
    const found = order.find(isDoubtful);
    if (found) choose(found);
    else say("No turn is doubtful");
  }
  function nextError() {
    if (!work.errors || !work.errors.length) return say("There are no errors to show");
    const now = head() + 0.001;
    const found = work.errors.find((error) => error.start > now) || work.errors[0];
    chosen = null;
    fillTurn();
    show(found.start, found.end);
    seek(found.start);
    say(errorText(found));
  }
  function errorText(error) {
    const names = (list) => list.map(shown).join(", ");
    const who = [names(error.ref), `${names(error.hyp)} though silent`,
      `${names(error.ref)} taken for ${names(error.hyp)}`][error.kind];
    return `${KINDS[error.kind]}: ${who}, ${clock(error.start)} to ${clock(error.end)}`;
  }

  function hit(event) {
    const box = canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    const time = view.from + ((view.to - view.from) * px) / box.width;
    const y = py < AXIS ? py : py + stage.scrollTop;
    const lane = lanes.find((one) => y >= one.top && y < one.top + one.height);
    const slack = (3 * (view.to - view.from)) / box.width;
    let thing = null;
    if (lane && lane.turns) {
      const near = inView(lane.turns, lane.longest, time - slack, time + slack);
      thing = near.find((turn) => turn.start <= time && turn.end > time) || near[0] || null;
      if (thing && lane.kind === "errors") {
        const kind = Math.floor((3 * (y - lane.top)) / lane.height);
        thing = near.find((error) => error.kind === kind) || thing;
      }
    }
    return { time, lane, thing };
  }

  const fingers = new Map();
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event);
    drag = { x: event.clientX, view: { ...view }, moved: false, spread: null };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return hint(event);
    fingers.set(event.pointerId, event);
    const perPixel = (drag.view.to - drag.view.from) / canvas.clientWidth;
    if (fingers.size === 2) {
      const [a, b] = [...fingers.values()].map((one) => one.clientX);
      const spread = Math.max(Math.abs(a - b), 10);
      if (!drag.spread) drag = { ...drag, spread, view: { ...view }, moved: true };
      const middle = (a + b) / 2 - canvas.getBoundingClientRect().left;
      const around = drag.view.from + middle * ((drag.view.to - drag.view.from) / canvas.clientWidth);
      const factor = spread / drag.spread;
      return setView(around - (around - drag.view.from) / factor, around + (drag.view.to - around) / factor);
    }
    const moved = event.clientX - drag.x;
    if (Math.abs(moved) > 4) drag.moved = true;
    if (drag.moved) setView(drag.view.from - moved * perPixel, drag.view.to - moved * perPixel);
  });
  canvas.addEventListener("pointerup", (event) => {
    const clicked = drag && !drag.moved && fingers.size === 1;
    fingers.delete(event.pointerId);
    if (!clicked) return;
    const { time, lane, thing } = hit(event);
    if (thing && lane.kind === "found") {
      choose(thing);
      playTurn(thing);
    } else if (thing && lane.kind === "truth") {
      choose(null);
      seek(thing.start);
      play(thing.start, thing.end);
    } else if (thing && lane.kind === "errors") {
      seek(thing.start);
      play(thing.start, thing.end);
      say(errorText(thing));
    } else seek(time);
  });
  canvas.addEventListener("pointercancel", (event) => fingers.delete(event.pointerId));
  canvas.addEventListener("pointerleave", () => ($("hint").hidden = true));
  stage.addEventListener("scroll", () => {
    $("hint").hidden = true;
    draw();
  });
  function hint(event) {
    const { lane, thing } = hit(event);
    const box = $("hint");
    box.hidden = !thing;
    if (!thing) return;
    if (lane.kind === "errors") box.textContent = errorText(thing);
    else if (lane.kind === "unresolved") box.textContent = `${UNRESOLVED}\n${clock(thing.start, 2)} – ${clock(thing.end, 2)}`;
    else {
      const sure = thing.sure == null ? "" : `\nconfidence ${percent(thing.sure, 0)}${isDoubtful(thing) ? ", doubtful" : ""}`;
      box.textContent = `${thing.speaker.name}\n${clock(thing.start, 2)} – ${clock(thing.end, 2)} (${(thing.end - thing.start).toFixed(2)} s)${sure}`;
    }
    box.style.left = `${clamp(event.clientX + 14, 0, Math.max(window.innerWidth - 290, 0))}px`;
    box.style.top = `${event.clientY + 16}px`;
  }
  canvas.addEventListener("wheel", (event) => {
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 240), hit(event).time);
    } else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      event.preventDefault();
      const by = (sideways * (view.to - view.from)) / canvas.clientWidth;
      setView(view.from + by, view.to + by);
    }
  }, { passive: false });

  function overviewTo(event) {
    const box = overview.getBoundingClientRect();
    const middle = ((event.clientX - box.left) / box.width) * duration();
    const half = (view.to - view.from) / 2;
    if (2 * half > 0.999 * duration()) seek(middle);
    else setView(middle - half, middle + half);
  }
  overview.addEventListener("pointerdown", (event) => {
    overview.setPointerCapture(event.pointerId);
    overviewTo(event);
  });
  overview.addEventListener("pointermove", (event) => event.buttons && overviewTo(event));
  overview.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -0.2, ArrowRight: 0.2, PageUp: -1, PageDown: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const width = view.to - view.from;
    setView(view.from + by * width, view.to + by * width);
  });

  const width = () => view.to - view.from;
  const KEYS = {
    ArrowLeft: () => choose(neighbour(-1) || chosen),
    ArrowRight: () => choose(neighbour(1) || chosen),
    Enter: () => playTurn(chosen),
    " ": toggle,
    "+": () => zoom(2, head() >= view.from && head() <= view.to ? head() : null),
    "=": () => KEYS["+"](),
    "-": () => zoom(0.5),
    "0": () => setView(0, duration()),
    PageUp: () => setView(view.from - width(), view.to - width()),
    PageDown: () => setView(view.from + width(), view.to + width()),
    Home: () => (setView(0, width()), seek(0)),
    End: () => setView(duration() - width(), duration()),
    d: nextDoubtful,
    e: nextError,
    s: () => split(chosen, head()),
    Delete: () => chosen && remove(chosen),
    Escape: () => (sound.pause(), choose(null)),
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const number = Number(key);
    if (number >= 1 && number <= 9 && chosen && work.speakers[number - 1]) {
      event.preventDefault();
      return assign(chosen, work.speakers[number - 1]);
    }
    if (!Object.hasOwn(KEYS, key)) return;
    event.preventDefault();
    KEYS[key]();
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if ((event.ctrlKey || event.metaKey) && !typing && event.key.toLowerCase() === "z") {
      event.preventDefault();
      if (event.shiftKey) redo();
      else undo();
    } else if ((event.ctrlKey || event.metaKey) && !typing && event.key.toLowerCase() === "y") {
      event.preventDefault();
      redo();
    } else if (event.key === "?" && !typing) toggleKeys();
  });
  map.addEventListener("click", (event) => {
    const box = map.getBoundingClientRect();
    const place = mapPlaces();
    let [best, nearest] = [null, 14 ** 2];
    work.recording.map.points.forEach((point, i) => {
      const [x, y] = place(...point);
      const far = (x - event.clientX + box.left) ** 2 + (y - event.clientY + box.top) ** 2;
      if (far < nearest) [best, nearest] = [i, far];
    });
    if (best == null) return;
    if (owners[best]) choose(owners[best]);
    const [start, end] = work.recording.map.times[best];
    play(start, end);
  });

  // --- panels ------------------------------------------------------------------------------

  function fillTiles() {
    const tiles = [
      [clock(duration(), 0), "recording"],
      [`${percent(figures.speech / duration(), 0)}`, `speech, ${clock(figures.speech, 0)}`],
      [work.speakers.length, work.speakers.length === 1 ? "speaker" : "speakers"],
      [work.turns.length, work.turns.length === 1 ? "turn" : "turns"],
      [percent(figures.speech ? figures.overlap / figures.speech : 0), `overlap, ${figures.overlap.toFixed(1)} s`],
    ];
    if (work.turns.some((turn) => turn.sure != null)) {
      tiles.push([figures.doubtful, figures.doubtful === 1 ? "doubtful turn" : "doubtful turns"]);
    }
    if (work.recording.score) tiles.push([percent(work.recording.score.figures.der), "DER"]);
    $("tiles").replaceChildren(...tiles.map(([value, name]) =>
      el("div", { className: "tile" }, el("b", {}, String(value)), el("span", {}, name))));
    const notes = [...work.recording.notes];
    if (work.edited && work.recording.score) {
      notes.push("Scores and error marks refer to the original turns, without your changes.");
    }
    $("notes").hidden = !notes.length;
    $("notes").replaceChildren(...notes.map((note) => el("p", {}, note)));
  }

  // A menu holds the names of all speakers only while it is on the screen, so that the
  // size of the page stays proportional to the number of speakers.
  const menus = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) target.fill(isIntersecting ? work.speakers : []);
  });
  function mergeMenu(speaker) {
    const menu = el("select", {
      "aria-label": `Merge ${shown(speaker.name)} into another speaker`,
      onchange: () => merge(speaker, work.speakers[Number(menu.value)]),
    });
    menu.fill = (speakers) => menu.replaceChildren(
      el("option", { value: "" }, "Merge into…"),
      ...speakers.map((one, place) => one === speaker ? null
        : el("option", { value: place }, shown(one.name))).filter(Boolean));
    menu.fill([]);
    menus.observe(menu);
    return menu;
  }
  function fillSpeakers() {
    menus.disconnect();
    const partners = new Map((work.reference || []).map((one) => [one.partner, one]));
    const most = Math.max(...[...figures.per.values()].map((one) => one.time), 1e-9);
    $("speakers").replaceChildren(...work.speakers.map((speaker) => {
      const mine = figures.per.get(speaker);
      const part = el("div", { className: classOf(speaker.style) });
      part.style.width = `${(100 * mine.time) / most}%`;
      const bar = el("div", { className: "bar", "aria-hidden": "true" }, part);
      const name = el("input", {
        type: "text", value: shown(speaker.name), maxlength: 200, spellcheck: "false",
        "aria-label": `Name of ${shown(speaker.name)}`, title: speaker.name,
        onchange: (event) => {
          const text = event.target.value;
          if (text !== shown(speaker.name)) rename(speaker, text);
        },
        onkeydown: (event) => event.key === "Enter" && event.target.blur(),
      });
      const into = work.speakers.length > 1 ? mergeMenu(speaker) : null;
      const partner = partners.get(speaker);
      const words = [
        `${mine.turns} ${mine.turns === 1 ? "turn" : "turns"}`,
        mine.turns ? `${(mine.time / mine.turns).toFixed(1)} s each` : null,
        mine.known ? `confidence ${percent(mine.sure / mine.known, 0)}` : null,
        mine.turns && mine.longest < data.min_longest
          ? `? never talks for ${data.min_longest} s, perhaps not a person` : null,
        partner ? `is ${partner.name} of the reference` : null,
      ].filter(Boolean);
      return el("div", { className: "speaker", role: "group", "aria-label": shown(speaker.name) },
        speakerChip(speaker.style), name,
        el("span", { className: "time" }, `${clock(mine.time, 0)} · ${percent(mine.time / figures.total, 0)}`),
        bar, into, el("span", { className: "more" }, words.join(" · ")));
    }));
  }

  function fillScore() {
    const score = work.recording.score;
    $("score-card").hidden = !score;
    if (!score) return;
    const now = score.figures;
    const parts = ["missed", "false_alarm", "confusion"].map((name) => now[name] || 0);
    const error = parts.reduce((sum, part) => sum + part, 0);
    const bar = el("canvas", { className: "split", role: "img",
      "aria-label": KINDS.map((kind, i) => `${kind} ${parts[i].toFixed(1)} s`).join(", ") });
    bar.paint = () => {
      const [pen, width, height] = fit(bar);
      const whole = Math.max(now.scored || 0, error) || 1;
      pen.fillStyle = css("--lane");
      pen.fillRect(0, 0, width, height);
      let left = 0;
      parts.forEach((part, kind) => {
        pen.fillStyle = errorFill(kind);
        pen.fillRect(left, 0, (part / whole) * width, height);
        left += (part / whole) * width;
        pen.fillStyle = css("--card");
        if (part) pen.fillRect(left, 0, 2, height);
      });
    };
    const row = (first, name, seconds, rate) => el("tr", {},
      el("td", {}, el("span", { className: "who" }, first, name)),
      el("td", { className: "number" }, seconds == null ? "" : `${seconds.toFixed(2)} s`),
      el("td", { className: "number" }, rate == null ? "–" : percent(rate)));
    const rates = ["missed_rate", "false_alarm_rate", "confusion_rate"];
    const rows = KINDS.map((kind, i) => row(errorChip(i), kind, parts[i], now[rates[i]]));
    rows.push(row(null, "Jaccard error rate (JER)", null, now.jer));
    const counts = el("p", { className: "fine" },
      `${now.n_ref} speakers in the reference, ${now.n_hyp} found; ${(now.scored || 0).toFixed(2)} s scored.`);
    const all = works.filter((one) => one.recording.score).map((one) => one.recording.score.figures);
    const sum = (name) => all.reduce((total, one) => total + (one[name] || 0), 0);
    const pooled = all.length > 1 && sum("scored") ? el("p", { className: "fine" },
      `All ${all.length} recordings together: DER ${percent((sum("missed") + sum("false_alarm") + sum("confusion")) / sum("scored"))}.`) : null;
    $("score").replaceChildren(
      el("p", {}, el("span", { className: "der" }, percent(now.der)), " diarization error rate"),
      bar, el("table", {}, el("caption", { className: "quiet" }, "Parts of the error"), el("tbody", {}, ...rows)), counts, pooled || "",
      el("details", {}, el("summary", {}, "What was counted"),
        el("ul", { className: "rules" }, ...score.rules.map((rule) => el("li", {}, rule)))));
    bar.paint();
  }

  function fillMap() {
    const shownMap = work.recording.map;
    $("map-card").hidden = !shownMap;
    if (!shownMap) return;
    const part = shownMap.points.length < shownMap.windows
      ? `${shownMap.points.length} of ${shownMap.windows} windows` : `${shownMap.windows} windows`;
    $("map-note").textContent =
      `${part} of speech, in the plane that shows most of their differences (${percent(shownMap.share, 0)} of the variance). ` +
      (shownMap.confidence ? "Hollow points are doubtful. " : "") + "A click plays a window.";
  }

  function fillLegend() {
    const items = [];
    if (work.turns.some((turn) => turn.sure != null)) {
      items.push(el("span", {}, chip((pen) => {
        pen.fillStyle = colourOf(0);
        pen.globalAlpha = 0.28;
        pen.fillRect(0, 0, 16, 16);
        pen.globalAlpha = 1;
        pen.strokeStyle = colourOf(0);
        pen.setLineDash([3, 2]);
        pen.lineWidth = 1.5;
        pen.strokeRect(1, 1, 14, 14);
        pen.setLineDash([]);
      }), `doubtful: confidence below ${percent(data.doubtful, 0)}`));
    }
    if (work.errors) items.push(el("span", {}, chip((pen) => {
      pen.fillStyle = css("--lane");
      pen.fillRect(0, 0, 16, 16);
      pen.fillStyle = css("--bad");
      pen.fillRect(0, 12, 16, 3);
    }), "wrong here"));
    if (work.errors) KINDS.forEach((kind, i) => items.push(el("span", {}, errorChip(i), kind)));
    if (work.unresolved.length) items.push(el("span", {}, chip((pen) => {
      pen.fillStyle = unresolvedFill();
      pen.fillRect(0, 0, 16, 16);
    }), UNRESOLVED));
    items.push(el("span", {}, hasSound ? "A click plays a turn." : "A click chooses a turn; open the audio file to listen."));
    $("legend").replaceChildren(...items);
    $("next-doubt").hidden = !figures.doubtful;
    $("next-error").hidden = !(work.errors && work.errors.length);
  }

  function fillTurn() {
    $("turn").hidden = !chosen;
    if (!chosen) return;
    $("turn-name").textContent = `Turn ${work.turns.indexOf(chosen) + 1} of ${work.turns.length}`;
    $("turn-speaker").replaceChildren(
      ...work.speakers.map((one, place) =>
        el("option", { value: place, selected: one === chosen.speaker }, shown(one.name))),
      el("option", { value: "new" }, "a new speaker"));
    $("turn-start").value = chosen.start.toFixed(3);
    $("turn-end").value = chosen.end.toFixed(3);
    $("turn-sure").textContent = chosen.sure == null ? ""
      : `confidence ${percent(chosen.sure, 0)}${isDoubtful(chosen) ? ", doubtful" : ""}`;
  }

  const ROWS = 50;
  let page = 0;
  function listed() {
    const filter = $("filter").value;
    if (filter === "doubtful") return work.turns.filter(isDoubtful);
    const speaker = work.speakers[Number(filter)];
    return filter === "" || !speaker ? work.turns : work.turns.filter((turn) => turn.speaker === speaker);
  }
  function fillFilter() {
    const before = $("filter").value;
    const options = [el("option", { value: "" }, "all turns")];
    if (figures.doubtful) options.push(el("option", { value: "doubtful" }, "doubtful turns"));
    work.speakers.forEach((one, place) => options.push(el("option", { value: place }, shown(one.name))));
    $("filter").replaceChildren(...options);
    $("filter").value = options.some((one) => one.value === before) ? before : "";
  }
  function fillTable(follow) {
    const turns = listed();
    const at = turns.indexOf(chosen);
    if (follow && at >= 0) page = Math.floor(at / ROWS);
    page = clamp(page, 0, Math.max(Math.ceil(turns.length / ROWS) - 1, 0));
    const part = turns.slice(page * ROWS, (page + 1) * ROWS);
    $("page-text").textContent = turns.length ? `${page * ROWS + 1}–${page * ROWS + part.length} of ${turns.length}` : "none";
    $("page-back").disabled = page === 0;
    $("page-on").disabled = (page + 1) * ROWS >= turns.length;
    document.querySelector("#turns tbody").replaceChildren(...part.map((turn) => {
      const sure = turn.sure == null ? "–" : percent(turn.sure, 0);
      return el("tr", { "aria-current": turn === chosen ? "true" : null, onclick: () => choose(turn) },
        el("td", {}, clock(turn.start, 2)), el("td", {}, clock(turn.end, 2)),
        el("td", {}, `${(turn.end - turn.start).toFixed(2)} s`),
        el("td", {}, el("span", { className: "who" }, speakerChip(turn.speaker.style), el("span", {}, shown(turn.speaker.name)))),
        el("td", { className: isDoubtful(turn) ? "doubt" : "" }, isDoubtful(turn) ? `${sure} doubtful` : sure),
        el("td", {}, el("button", {
          type: "button", disabled: !hasSound, "aria-label": `Play ${shown(turn.speaker.name)} at ${clock(turn.start)}`,
          onclick: (event) => {
            event.stopPropagation();
            choose(turn);
            playTurn(turn);
          },
        }, "▶")));
    }));
  }
  function fillMade() {
    const table = (name, rows) => rows.length ? el("div", {}, el("h3", {}, name),
      el("table", {}, el("tbody", {}, ...rows.map(([key, value]) =>
        el("tr", {}, el("th", { scope: "row" }, key), el("td", {}, value)))))) : "";
    $("made").replaceChildren(table("Settings", data.settings), table("Versions", data.versions));
  }

  function refresh() {
    figures = measure();
    backdrop = null;
    layOut();
    if (chosen) reveal(chosen);
    ownWindows();
    fillTiles();
    fillSpeakers();
    fillScore();
    fillMap();
    fillLegend();
    fillTurn();
    fillFilter();
    fillTable(true);
    fillWords();
    const known_ = work.turns.filter((turn) => turn.sure != null).length;
    $("turns-note").hidden = !known_ || known_ === work.turns.length;
    $("undo").disabled = !work.done.length;
    $("redo").disabled = !work.undone.length;
    $("download").textContent = works.some((one) => one.edited) ? "Download corrected RTTM" : "Download RTTM";
    drawMap();
    draw();
  }
  function open(place) {
    work = works[place];
    chosen = null;
    page = 0;
    $("title").textContent = works.length > 1 ? work.recording.name : data.title;
    loadSound();
    view = { from: 0, to: duration() };
    stage.scrollTop = 0;
    openWords();
    refresh();
  }

  // --- words -------------------------------------------------------------------------------

  // Words are never changed: a correction makes new words and a new array, and undo keeps
  // arrays. Their number stays, so that a word is known by its place.
  function wordsOf(recording, speakers) {
    const columns = recording.words;
    if (!columns) return null;
    const texts = columns.texts.split("\n");
    const words = [];
    columns.phrases.forEach(([start, end, who, count]) => {
      const phrase = { start: start / 1000, end: end / 1000 };
      for (let i = 0; i < count; i++) {
        const at = words.length;
        const flags = parseInt(columns.flags[at], 16);
        words.push({
          text: texts[at], start: columns.times[2 * at] / 1000, end: columns.times[2 * at + 1] / 1000,
          sure: columns.sure ? columns.sure[at] : null, heard: columns.heard ? columns.heard[at] : null,
          joined: Boolean(i && flags & 1), guessed: Boolean(flags & 2), ofLine: Boolean(flags & 4), ofCue: Boolean(flags & 8),
          phrase, speaker: speakers[who] || null,
        });
      }
    });
    return words;
  }
  function moveWords(isMoved, values) {
    if (!work.words || !work.words.some(isMoved)) return;
    work.words = work.words.map((word, i) => (isMoved(word, i) ? { ...word, ...values } : word));
  }
  function giveWords(from, to, speaker) {
    if (work.words.slice(from, to).every((word) => word.speaker === speaker)) return;
    const name = speaker ? shown(speaker.name) : speaker === null ? UNKNOWN : "a new speaker";
    change(`${countOf(to - from, "word")} given to ${name}`, () => {
      const who = speaker === undefined ? newSpeaker() : speaker;
      moveWords((word, i) => i >= from && i < to, { speaker: who, sure: null });
    }, true);
  }
  // Whether the middle of a word is inside a turn.
  const isWithin = ({ start, end }, turn) => start + end >= 2 * turn.start && start + end < 2 * turn.end;
  const UNKNOWN = "unknown";
  const countOf = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

  // Runs of words of a speaker, divided where `begins` says so.
  function runsOf(words, begins) {
    const runs = [];
    words.forEach((word, i) => {
      const [before, run] = [words[i - 1], runs.at(-1)];
      if (run && before.speaker === word.speaker && !begins(word, before, i - run.from)) run.to = i + 1;
      else runs.push({ from: i, to: i + 1 });
    });
    return runs;
  }
  // A paragraph ends with its speaker, before a pause, and where it gets long.
  const [PAUSE, LONG] = [3, 120]; // seconds, words
  const isPause = (word, before) => word.phrase.start - before.phrase.end > PAUSE;
  const paragraphsOf = (words) => runsOf(words, (word, before, length) =>
    before.phrase === word.phrase ? length >= 2 * LONG : length >= LONG || isPause(word, before));

  const prose = $("words");
  const BLOCK = 128; // words
  let [blocks, paragraphs, drawnWords, spans, hits, isHit] = [];
  let picked = null; // places of the words that were chosen
  let [hitAt, nowAt, follows] = [0, -1, true];

  function paintWord(i) {
    const word = work.words[i];
    spans[i].className = [
      isDoubtful(word) ? "unsure" : "", word.guessed && !work.allGuessed ? "guess" : "", isHit[i] ? "hit" : "",
      i >= picked.from && i < picked.to ? "picked" : "", i === nowAt ? "now" : "",
    ].filter(Boolean).join(" ");
  }
  function paintWords(from, to) {
    for (let i = from; i < to; i++) paintWord(i);
  }
  function paragraphRow(part) {
    const text = el("p", { dir: "auto" });
    for (let i = part.from; i < part.to; i++) {
      const word = work.words[i];
      const span = document.createElement("span");
      span.textContent = word.text;
      span.place = i;
      const remarks = [isDoubtful(word) ? `speaker confidence ${percent(word.sure, 0)}` : null,
        word.guessed ? "estimated time" : null].filter(Boolean);
      if (remarks.length) span.title = remarks.join(", ");
      spans[i] = span;
      paintWord(i);
      text.append(i > part.from && !word.joined ? " " : "", span);
    }
    const { speaker, start } = work.words[part.from];
    part.name = el("button", { type: "button", tabindex: -1, title: "Choose the paragraph", onclick: () => pick(part.from, part.to) });
    return el("div", { className: "paragraph" },
      el("span", { className: `stripe ${speaker ? classOf(speaker.style) : "unknown"}`, "aria-hidden": "true" }),
      el("div", { className: "said" }, part.name, el("span", { className: "time" }, clock(Math.floor(start), 0))), text);
  }
  // Blocks of paragraphs out of sight are not laid out; those that did not change stay.
  function fillWords() {
    const { words } = work;
    $("words-card").hidden = !words;
    if (!words) return;
    const groups = Array.from({ length: Math.ceil(words.length / BLOCK) }, () => []);
    paragraphs = paragraphsOf(words);
    for (const part of paragraphs) groups[Math.floor(part.from / BLOCK)].push(part);
    const perLine = Math.max(prose.clientWidth - (prose.clientWidth > 560 ? 200 : 30), 200) / 8;
    groups.forEach((parts, i) => {
      const block = (blocks[i] ||= { row: prose.appendChild(el("div", { className: "block" })), parts: [] });
      const isSame = (part, place) => part.to === block.parts[place]?.to &&
        words.slice(part.from, part.to).every((word, at) => word === drawnWords[part.from + at]);
      if (parts.length === block.parts.length && parts.every(isSame)) {
        parts.forEach((part, place) => Object.assign(part, block.parts[place]));
      } else {
        block.row.replaceChildren(...parts.map(paragraphRow));
        const lines = parts.map(({ from, to }) => Math.ceil(textOf(words.slice(from, to)).length / perLine));
        block.row.style.containIntrinsicHeight = `auto ${lines.reduce((sum, count) => sum + 14 + 26 * count, 0)}px`;
      }
      block.parts = parts;
    });
    drawnWords = words;
    for (const { name, from } of paragraphs) name.textContent = nameOf(words[from].speaker);
    const legend = [
      words.some(isDoubtful) ? ["unsure", `speaker confidence below ${percent(data.doubtful, 0)}`] : null,
      words.some((word) => word.guessed) ? work.allGuessed
        ? ["", "The times of all words are estimated."] : ["guess", "grey: estimated time"] : null,
    ].filter(Boolean);
    $("words-legend").replaceChildren(
      ...legend.map(([kind, text]) => el("span", { className: kind }, text)),
      el("span", {}, hasSound ? "A click plays from a word." : "A click chooses a word."));
    fillPicked();
  }
  const nameOf = (speaker) => (speaker ? shown(speaker.name) : UNKNOWN);

  function pick(from, to, anchor = from) {
    const before = picked;
    picked = { from, to, anchor };
    paintWords(before.from, before.to);
    paintWords(from, to);
    fillPicked();
    if (from < to) say(`${pickedText()}, ${nameOf(work.words[from].speaker)}, at ${clock(work.words[from].start)}`);
  }
  function pickedText() {
    const text = textOf(work.words.slice(picked.from, picked.to));
    const count = picked.to - picked.from;
    return `${count > 1 ? `${countOf(count, "word")}: ` : ""}${text.length > 60 ? `${[...text].slice(0, 60).join("")}…` : text}`;
  }
  function fillPicked() {
    const chosenWords = work.words.slice(picked.from, picked.to);
    $("word").hidden = !chosenWords.length;
    if (!chosenWords.length) return;
    const [{ speaker, sure }] = chosenWords;
    $("word-name").textContent = pickedText();
    $("word-speaker").replaceChildren(
      ...work.speakers.map((one, place) => el("option", { value: place, selected: one === speaker }, shown(one.name))),
      el("option", { value: "unknown", selected: !speaker }, UNKNOWN), el("option", { value: "new" }, "a new speaker"));
    $("word-sure").textContent = chosenWords.length > 1 || sure == null ? "" : `confidence ${percent(sure, 0)}`;
  }
  function playWord(i) {
    const word = work.words[i];
    show(word.start, word.end);
    seek(word.start);
    trackWord();
    follow(true);
    if (hasSound) play(word.start, null);
  }

  // Index of the last value that is not above a limit, in rising values; -1 if there is none.
  function lastUpTo(values, limit) {
    let [low, high] = [0, values.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] <= limit) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
  // Mark the word at the playhead: of several speakers' words the one that began last.
  function trackWord() {
    if (!work.words) return;
    const now = head() + 0.001; // browsers round times
    const at = work.order[lastUpTo(work.starts, now)];
    const next = at != null && now < work.words[at].end + 0.5 ? at : -1;
    if (next === nowAt) return;
    const before = nowAt;
    nowAt = next;
    if (before >= 0) paintWord(before);
    if (next < 0) return;
    paintWord(next);
    if (follows) toWord(next);
  }
  function toWord(i, times = 3) {
    const [box, word] = [prose.getBoundingClientRect(), spans[i].getBoundingClientRect()];
    if (word.top >= box.top + 4 && word.bottom <= box.bottom - 4) return;
    prose.scrollTop += word.top - box.top - box.height / 3;
    // Paragraphs that come into sight get their true height with the next frame.
    if (times) requestAnimationFrame(() => spans[i] && toWord(i, times - 1));
  }
  function follow(value) {
    follows = value;
    $("follow").setAttribute("aria-pressed", String(value));
    if (value && nowAt >= 0) toWord(nowAt);
  }

  function findWords() {
    const wanted = $("find").value.normalize().toLowerCase().trim().replace(/\s+/gu, " ");
    const before = hits;
    hits = [];
    isHit = [];
    for (let at = wanted ? work.text.indexOf(wanted) : -1; at >= 0;) {
      const from = lastUpTo(work.offsets, at);
      const to = lastUpTo(work.offsets, at + wanted.length - 1) + 1;
      hits.push([from, to]);
      for (let i = from; i < to; i++) isHit[i] = true;
      at = to < work.offsets.length ? work.text.indexOf(wanted, work.offsets[to]) : -1;
    }
    for (const [from, to] of [...before, ...hits]) paintWords(from, to);
    $("find-back").disabled = $("find-on").disabled = !hits.length;
    $("find-count").textContent = wanted ? "no match" : "";
    toHit(Math.max(hits.findIndex(([from]) => from >= picked.from), 0));
  }
  function toHit(place) {
    if (!hits.length) return;
    hitAt = (place + hits.length) % hits.length;
    follow(false);
    pick(...hits[hitAt]);
    toWord(picked.from);
    $("find-count").textContent = `${hitAt + 1} of ${hits.length}`;
  }
  function openWords() {
    [blocks, paragraphs, drawnWords, spans, hits, isHit] = [[], [], [], [], [], []];
    picked = { from: 0, to: 0, anchor: 0 };
    nowAt = -1;
    prose.replaceChildren();
    $("find").value = $("find-count").textContent = "";
    if (!work.words || work.order) return;
    work.allGuessed = work.words.every((word) => word.guessed);
    work.order = [...work.words.keys()].sort((a, b) => work.words[a].start - work.words[b].start);
    work.starts = work.order.map((i) => work.words[i].start);
    work.offsets = [];
    work.text = "";
    for (const word of work.words) {
      if (work.text && !word.joined) work.text += " ";
      work.offsets.push(work.text.length);
      work.text += word.text.normalize().toLowerCase();
    }
  }

  const paragraphAt = (i) => paragraphs[lastUpTo(paragraphs.map((part) => part.from), i)];
  function moveTo(i, extend) {
    if (!work.words[i]) return;
    const anchor = extend && picked.to ? picked.anchor : i;
    pick(Math.min(anchor, i), Math.max(anchor, i) + 1, anchor);
    toWord(i);
  }
  function stepWord(step, extend) {
    const atStart = picked.from < picked.anchor || picked.from + 1 === picked.to;
    moveTo(picked.to ? (atStart ? picked.from : picked.to - 1) + step : Math.max(nowAt, 0), extend);
  }
  function stepParagraph(step) {
    const place = paragraphs.indexOf(paragraphAt(picked.from)) + (picked.to ? step : 0);
    if (paragraphs[place]) moveTo(paragraphs[place].from);
  }
  function nextUnsure() {
    const after = work.words.findIndex((word, i) => i >= picked.to && isDoubtful(word));
    const next = after < 0 ? work.words.findIndex(isDoubtful) : after;
    if (next < 0) say("No word is doubtful");
    else moveTo(next);
  }
  const givePicked = (speaker) => picked.to && giveWords(picked.from, picked.to, speaker);
  function pickParagraph() {
    const part = paragraphAt(picked.from);
    pick(part.from, part.to);
  }
  const WORD_KEYS = {
    ArrowLeft: (event) => stepWord(-1, event.shiftKey),
    ArrowRight: (event) => stepWord(1, event.shiftKey),
    ArrowUp: () => stepParagraph(-1),
    ArrowDown: () => stepParagraph(1),
    Enter: () => picked.to && playWord(picked.from),
    " ": toggle,
    p: pickParagraph,
    d: nextUnsure,
    "0": () => givePicked(null),
    Escape: () => (sound.pause(), pick(0, 0)),
  };
  const MIRRORED = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft" };
  prose.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    let key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (MIRRORED[key] && picked.to && getComputedStyle(spans[picked.from]).direction === "rtl") key = MIRRORED[key];
    const speaker = work.speakers[Number(key) - 1];
    if (/^(Page|Home|End)/u.test(key)) stopFollowing();
    if (!speaker && !Object.hasOwn(WORD_KEYS, key)) return;
    event.preventDefault();
    if (speaker) givePicked(speaker);
    else WORD_KEYS[key](event);
  });
  prose.addEventListener("click", (event) => {
    if (event.target.closest("button")) return prose.focus({ preventScroll: true });
    const selection = getSelection();
    if (!selection.isCollapsed && prose.contains(selection.anchorNode) && prose.contains(selection.focusNode)) {
      const { startContainer, endContainer } = selection.getRangeAt(0);
      const from = startContainer.parentElement.place ?? startContainer.nextSibling?.place;
      const to = endContainer.parentElement.place ?? endContainer.previousSibling?.place ?? paragraphAt(from)?.to - 1;
      if (from <= to) pick(from, to + 1);
      return;
    }
    const { place } = event.target;
    if (place == null) return;
    if (event.shiftKey) return moveTo(place, true);
    pick(place, place + 1);
    playWord(place);
  });
  const stopFollowing = () => sound.paused || follow(false);
  for (const kind of ["wheel", "touchmove"]) prose.addEventListener(kind, stopFollowing, { passive: true });
  prose.addEventListener("pointerdown", (event) => event.target === prose && stopFollowing()); // its scroll bar
  $("find").addEventListener("input", findWords);
  $("find").addEventListener("keydown", (event) => {
    if (event.key === "Enter") toHit(hitAt + (event.shiftKey ? -1 : 1));
  });
  $("word").addEventListener("submit", (event) => event.preventDefault());
  $("word-speaker").addEventListener("change", ({ target: { value } }) =>
    givePicked(value === "new" ? undefined : value === "unknown" ? null : work.speakers[Number(value)]));

  // --- transcripts as files ------------------------------------------------------------------

  const textOf = (words) => words.map((word, i) => (i && !word.joined ? ` ${word.text}` : word.text)).join("");
  // Parts of the transcript of a recording, by default the phrases as they came. Where one
  // is divided, its words have the times.
  function partsOf(one, begins = (word, before) => word.phrase !== before.phrase) {
    const { words } = one;
    return runsOf(words, begins).map(({ from, to }) => {
      const part = words.slice(from, to);
      const [first, last] = [part[0], part.at(-1)];
      return {
        recording: one.recording.name, speaker: first.speaker?.name, who: first.speaker?.name || UNKNOWN,
        start: words[from - 1]?.phrase === first.phrase ? first.start : first.phrase.start,
        end: words[to]?.phrase === last.phrase ? last.end : last.phrase.end, words: part, text: textOf(part),
      };
    });
  }
  const json = (value) => `${JSON.stringify(value, null, 2)}\n`;
  const jsonLines = (values) => values.map((value) => `${JSON.stringify(value)}\n`).join("");
  const haveSpeakers = (parts) => parts.some((part) => part.speaker);
  const seconds = (time) => (Number.isInteger(time) ? time.toFixed(1) : String(time));
  const lengthOf = ({ start, end }) => Number((end - start).toFixed(3));
  const byTime = (parts) => parts.sort((a, b) =>
    (a.recording < b.recording ? -1 : Number(a.recording > b.recording)) || a.start - b.start);
  const field = (name) => cleanName(name) || "unnamed";
  const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };
  const escaped = (text, signs) => text.replace(signs, (sign) => ENTITIES[sign]);

  // Spreadsheets take text that begins like this for a formula, unless it is a number.
  const FORMULA = /^'*\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/u;
  const NUMBER = /^([+-]?(\d[\d,]*(\.\d*)?|\.\d+)(e[+-]?\d+)?( ?%)?|[+-])$/iu;
  function cell(text) {
    const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
    return /[",]/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }
  const LABELS = /^(<[^<>]*,[^<>]*>|<NA>)( |$)/u;
  const stm = ({ recording, who, start, end, text }) =>
    `${field(recording)} 1 ${field(who)} ${seconds(start)} ${seconds(end)} ${LABELS.test(text) ? "<NA> " : ""}${text}\n`;
  function ctm(parts) {
    const named = haveSpeakers(parts);
    const rows = parts.flatMap(({ recording, who, words }) => words.map((word) => ({ recording, who, ...word })));
    return byTime(rows).map((row) => [field(row.recording), 1, row.start.toFixed(3), (row.end - row.start).toFixed(3),
      row.text, row.heard ?? "NA", ...(named ? ["lex", field(row.who)] : [])].join(" ") + "\n").join("");
  }
  function whisper(parts) {
    return json({ segments: parts.map(({ start, end, speaker, text, words }) => ({
      start, end, text, speaker, words: words.map((word) => ({
        word: word.text, ...(word.guessed ? {} : { start: word.start, end: word.end }), score: word.heard ?? undefined, speaker,
      })),
    })) });
  }
  function openai(parts) {
    const segments = parts.map(({ start, end, text, who }, i) =>
      ({ type: "transcript.text.segment", id: `seg_${i}`, start, end, text, speaker: who }));
    const duration = Math.max(0, ...parts.map((part) => part.end));
    return json({ task: "transcribe", duration, text: parts.map((part) => part.text).join(" "), segments });
  }
  function pyannote(parts) {
    const turns = parts.map(({ start, end, who }) => ({ start, end, speaker: who }));
    return json({ output: {
      diarization: turns,
      wordLevelTranscription: parts.flatMap(({ who, words }) =>
        words.map(({ start, end, text }) => ({ start, end, text, speaker: who }))),
      turnLevelTranscription: turns.map((turn, i) => ({ ...turn, text: parts[i].text })),
    } });
  }
  const supervision = (part, i) => ({
    id: `${part.recording}-${String(i).padStart(6, "0")}`, recording_id: part.recording, start: part.start,
    duration: lengthOf(part), channel: 0, text: part.text, speaker: part.speaker,
    alignment: part.words.some((word) => word.guessed) ? undefined
      : { word: part.words.map((word) => [word.text, word.start, lengthOf(word), word.heard]) },
  });
  const stamp = (time, mark) => [3600000, 60000, 1000].map((unit, i) =>
    String(Math.floor(time / unit) % (i ? 60 : Infinity)).padStart(2, "0")).join(":") + mark + String(time % 1000).padStart(3, "0");
  function readable(one, line) {
    const parts = partsOf(one, isPause);
    const named = haveSpeakers(parts);
    return parts.map(({ start, who, text }) =>
      `${line(stamp(1000 * Math.floor(start), ".").slice(0, -4), named ? who : "", text)}\n`).join("\n");
  }
  const marked = (text) => text.replace(/[\\`*_[\]<>&~|$@]|:(?=\/\/)/gu, "\\$&").replace(/(www)\./giu, "$1\\.");
  // Parts in milliseconds; those of a speaker do not overlap.
  function apart(parts) {
    const rows = parts.map((part) => ({ ...part, start: Math.round(1000 * part.start), end: Math.round(1000 * part.end) }));
    const latest = new Map();
    for (const row of rows.sort((a, b) => a.start - b.start)) {
      const before = latest.get(row.speaker) || { start: -1 };
      row.start = Math.max(row.start, before.start + 1);
      before.end = Math.min(before.end, row.start);
      row.end = Math.max(row.end, row.start + 1);
      latest.set(row.speaker, row);
    }
    return rows.sort((a, b) => a.start - b.start);
  }
  // Subtitles are divided as the library did before names and speakers were changed.
  function cues(one, mark, textOfCue) {
    const parts = apart(partsOf(one, (word) => word.ofCue).map((part) => ({
      ...part, start: part.words[0].start, end: Math.max(...part.words.map((word) => word.end)),
      text: part.words.map((word, i) => (word.ofLine ? "\n" : i && word.joined ? "" : " ") + word.text).join(""),
    })));
    const named = haveSpeakers(parts);
    return parts.map((cue, i) => {
      const end = Math.max(cue.end, Math.min(cue.start + 1000, parts[i + 1]?.start ?? Infinity));
      return `${mark === "," ? `${i + 1}\n` : ""}${stamp(cue.start, mark)} --> ${stamp(end, mark)}\n${textOfCue(cue, named)}\n`;
    }).join("\n");
  }
  function vttText({ speaker, text }) {
    const [voice, said] = [speaker || "", text.trim()].map((part) => escaped(part, /[&<>]/g));
    return (voice && `<v ${voice}>`) + said;
  }
  function tiersOf(parts) {
    const tiers = new Map();
    for (const row of apart(parts)) tiers.set(row.who, [...(tiers.get(row.who) || []), row]);
    return [...tiers];
  }
  // The short form of the format; the intervals of a tier leave no gaps.
  function textgrid(parts) {
    const tiers = tiersOf(parts);
    const whole = Math.max(...tiers.flatMap(([, rows]) => rows.map((row) => row.end)));
    const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
    return ['File type = "ooTextFile"', 'Object class = "TextGrid"', "", 0, whole / 1000, "<exists>", tiers.length,
      ...tiers.flatMap(([name, rows]) => {
        const places = [...rows, { start: whole }].flatMap((row, i) => {
          const before = rows[i - 1]?.end || 0;
          const gap = row.start > before ? [[before / 1000, row.start / 1000, quoted("")]] : [];
          return row.end ? [...gap, [row.start / 1000, row.end / 1000, quoted(row.text)]] : gap;
        });
        return ['"IntervalTier"', quoted(name), 0, whole / 1000, places.length, ...places.flat()];
      }), ""].join("\n");
  }
  function elan(parts) {
    const safe = (text) => escaped(text, /[&<>"']/g).replace(/[\ufffe\uffff]/g, "\ufffd");
    const slots = [];
    const tiers = tiersOf(parts).map(([name, rows]) =>
      `<TIER LINGUISTIC_TYPE_REF="turns" PARTICIPANT="${safe(name)}" TIER_ID="${safe(name)}">\n${rows.map((row) => {
        const ids = [row.start, row.end].map((time) => `ts${slots.push({ id: `ts${slots.length + 1}`, time })}`);
        return `<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a${slots.length / 2}" TIME_SLOT_REF1="${ids[0]}" ` +
          `TIME_SLOT_REF2="${ids[1]}"><ANNOTATION_VALUE>${safe(row.text)}</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>\n`;
      }).join("")}</TIER>\n`);
    const order = slots.sort((a, b) => a.time - b.time).map(({ id, time }) => `<TIME_SLOT TIME_SLOT_ID="${id}" TIME_VALUE="${time}"/>\n`);
    return [data.elan[0], "<TIME_ORDER>\n", ...order, "</TIME_ORDER>\n", ...tiers, data.elan[1]].join("");
  }
  // Formats get phrases of one or all recordings; some divide the words themselves.
  const WRITERS = {
    csv: (parts) => ["recording,start,end,speaker,text", ...parts.map(({ recording, start, end, who, text }) =>
      [cell(recording), seconds(start), seconds(end), cell(who), cell(text)].join(",")), ""].join("\n"),
    textgrid,
    eaf: elan,
    srt: () => cues(work, ",", ({ who, text }, named) => ((named ? `[${who}]:` : "") + text).trim().replaceAll("-->", "->")),
    vtt: () => `WEBVTT\n\n${cues(work, ".", vttText)}`,
    stm: (parts) => byTime(parts).map(stm).join(""),
    ctm,
    seglst: (parts) => json(parts.map(({ recording, start, end, who, text }) =>
      ({ session_id: recording, start_time: start, end_time: end, speaker: who, words: text }))),
    lhotse: (parts) => jsonLines(parts.map(supervision)),
    nemo: (parts) => jsonLines(parts.map((part) =>
      ({ audio_filepath: `${part.recording}.wav`, offset: part.start, duration: lengthOf(part), text: part.text, label: part.speaker }))),
    pyannoteai: pyannote,
    whisper,
    openai,
    txt: () => readable(work, (time, who, text) => `[${time}] ${who}${who && ": "}${text}`),
    markdown: () => readable(work, (time, who, text) => `${who && `**${marked(who)}** `}(${time}): ${marked(text)}`),
  };
  function downloadWords() {
    const [name, title, suffix, ofAll] = data.formats.find(([name_]) => name_ === $("words-format").value);
    const saved = ofAll ? works.filter((one) => one.words) : [work];
    const stem = saved.length === 1 ? cleanName(work.recording.name) || "recording" : "transcripts";
    save(WRITERS[name](saved.flatMap((one) => partsOf(one))), stem, suffix.slice(1));
    for (const one of saved) one.savedWords = true;
    say(`${title} downloaded`);
  }

  // --- theme, buttons, begin -----------------------------------------------------------------

  const THEMES = ["auto", "light", "dark"];
  let theme = 0;
  const system = matchMedia("(prefers-color-scheme: dark)");
  function paintTheme() {
    dark = theme === 0 ? system.matches : theme === 2;
    document.documentElement.toggleAttribute("data-dark", dark);
    known.clear();
    patterns.clear();
    backdrop = null;
    $("theme").textContent = `Theme: ${THEMES[theme]}`;
    for (const one of document.querySelectorAll("canvas")) if (one.paint) one.paint();
    drawMap();
    draw();
  }
  function toggleKeys() {
    const box = $("keys");
    box.hidden = !box.hidden;
    $("help").setAttribute("aria-expanded", String(!box.hidden));
  }
  const click = (id, act) => $(id).addEventListener("click", act);
  click("undo", undo);
  click("redo", redo);
  click("download", download);
  click("words-download", downloadWords);
  click("follow", () => follow(!follows));
  click("find-back", () => toHit(hitAt - 1));
  click("find-on", () => toHit(hitAt + 1));
  click("word-play", () => playWord(picked.from));
  click("word-paragraph", pickParagraph);
  click("help", toggleKeys);
  click("theme", () => {
    theme = (theme + 1) % 3;
    paintTheme();
  });
  system.addEventListener("change", paintTheme);
  click("play", toggle);
  click("zoom-in", () => KEYS["+"]());
  click("zoom-out", () => zoom(0.5));
  click("zoom-all", () => setView(0, duration()));
  click("next-doubt", nextDoubtful);
  click("next-error", nextError);
  click("turn-play", () => playTurn(chosen));
  click("turn-split", () => split(chosen, head()));
  click("turn-remove", () => remove(chosen));
  $("turn").addEventListener("submit", (event) => event.preventDefault());
  $("turn-speaker").addEventListener("change", (event) =>
    assign(chosen, event.target.value === "new" ? null : work.speakers[Number(event.target.value)]));
  for (const id of ["turn-start", "turn-end"]) {
    $(id).addEventListener("change", () => {
      // A field that was not touched keeps all its decimals.
      const read = (field, old) => ($(field).value === old.toFixed(3) ? old : Number($(field).value));
      retime(chosen, read("turn-start", chosen.start), read("turn-end", chosen.end));
    });
  }
  $("words-format").replaceChildren(
    ...data.formats.map(([name, title]) => el("option", { value: name, selected: name === "txt" }, title)));
  $("filter").addEventListener("change", () => {
    page = 0;
    fillTable(false);
  });
  click("page-back", () => {
    page--;
    fillTable(false);
  });
  click("page-on", () => {
    page++;
    fillTable(false);
  });
  $("recording-pick").hidden = works.length < 2;
  $("recording").replaceChildren(...works.map((one, place) => el("option", { value: place }, one.recording.name)));
  $("recording").addEventListener("change", (event) => open(Number(event.target.value)));
  window.addEventListener("beforeunload", (event) => {
    if (works.some((one) => !one.saved || !one.savedWords)) event.preventDefault();
  });
  const sizes = new ResizeObserver(() => {
    drawMap();
    draw();
    for (const one of document.querySelectorAll("canvas.split")) one.paint();
  });
  for (const one of [canvas, overview, map]) sizes.observe(one);

  fillMade();
  paintTheme();
  open(0);
  document.documentElement.dataset.ready = "yes";
})();
