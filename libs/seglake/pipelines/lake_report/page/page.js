"use strict";
// Fills the list of partitions, draws their strips, and shows one partition whole.
// Everything from the data goes into the page as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const LOST = ["deleted_or_lost", "remote", "undecided", "quarantined", "superseded", "missing"];
  const NARROW = matchMedia("(max-width: 760px)");
  const MOST_PRINTED = 300, MOST_RANGES = 20, MOST_PLACES = 20, AROUND = 6;
  const numbers = new Intl.NumberFormat("en", { useGrouping: true });
  const shown = (value) => value === null || value === undefined ? "unknown" : numbers.format(BigInt(value)).replaceAll(",", "\u202f");
  const words = (state) => state.replaceAll("_", " ");
  const moment = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ") + " UTC";

  const partitions = data.partitions.map((values, index) => {
    const [topic, number, source, id, records, findings, strip, seen, damage, damageCount] = values;
    return {
      index, number, records, damage, damageCount,
      topic: data.topics[topic], name: `${data.topics[topic]}-${number}`,
      source: data.sources[source], id: id < 0 ? null : data.ids[id],
      findings: findings.map(([kind, text]) => ({ index: kind, ...data.kinds[kind], text })),
      level: Math.max(0, ...findings.map(([kind]) => data.kinds[kind].level)),
      strip: strip.map(([state, count, ranges]) => ({ order: state, state: data.states[state], count, ranges })).sort((a, b) => a.order - b.order),
      seen: seen === 0 ? null : {
        logStart: seen[0], highWatermark: seen[1], lastStable: seen[2], logEnd: seen[3], next: seen[4],
        stop: data.stops[seen[5]], waitingSince: seen[6], at: seen[7], broker: seen[8], reasons: seen[9],
      },
    };
  });

  const element = (name, attributes = {}, ...content) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...content);
    return made;
  };
  const table = (heads, rows) => element("div", { class: "wide" }, element("table", {},
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", {}, head)))),
    element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell)))))));
  const code = (text) => text.split("`").map((part, index) => index % 2 ? element("code", {}, part) : part);

  // Strips ---------------------------------------------------------------------------------
  const extent = (partition) => {
    const known = partition.strip.flatMap((drawn) => drawn.ranges.map(Number));
    let low = Infinity, high = -Infinity;
    for (const offset of known) { low = Math.min(low, offset); high = Math.max(high, offset); }
    return known.length ? [low, Math.max(high, low + 1)] : [0, 1];
  };
  const rects = (drawn, domain, width) => {
    const least = (domain[1] - domain[0]) / width * (LOST.includes(drawn.state) ? 3 : 1);  // pixels, so that nothing small is lost
    const found = [];
    for (let i = 0; i < drawn.ranges.length; i += 2) {
      let start = Number(drawn.ranges[i]), stop = Number(drawn.ranges[i + 1]);
      if (stop - start < least) { const middle = (start + stop) / 2; start = middle - least / 2; stop = middle + least / 2; }
      found.push({ start: Math.max(start, domain[0]), stop: Math.min(stop, domain[1]), said: `${words(drawn.state)}: [${drawn.ranges[i]}, ${drawn.ranges[i + 1]})` });
    }
    return found;
  };
  const strip = (partition, width, isWhole) => {
    const domain = extent(partition), seen = partition.seen ?? {};
    const within = (mark) => mark.at !== null && mark.at !== undefined && Number(mark.at) >= domain[0] && Number(mark.at) <= domain[1];
    const marks = [{ at: seen.logStart, name: "log start" }, { at: seen.highWatermark, name: "high watermark" }, { at: seen.lastStable, name: "last stable" }, { at: seen.logEnd, name: "log end" }];
    const told = [...d3.group((isWhole ? marks : marks.slice(1, 2)).filter(within), (mark) => Number(mark.at))]
      .map(([at, alike]) => ({ at, name: alike.map((mark) => mark.name).join(", ") }));
    const said = partition.strip.map((drawn) => `${shown(drawn.count)} ${words(drawn.state)}`).join(", ") || "nothing";
    return Plot.plot({
      className: "strip", width, height: isWhole ? 104 : 26,
      marginTop: isWhole ? 42 : 1, marginBottom: isWhole ? 26 : 1, marginLeft: isWhole ? 8 : 1, marginRight: isWhole ? 8 : 1,
      ariaLabel: `${partition.name}: ${said}`,
      x: { domain, axis: isWhole ? "bottom" : null, label: null, tickFormat: (offset) => shown(Math.round(offset)), ticks: width / 130, type: "linear" },
      y: { domain: [0, 1], axis: null },
      marks: [
        Plot.frame({ className: "box", stroke: "currentColor", strokeOpacity: 0.35 }),
        ...partition.strip.map((drawn) => Plot.rect(rects(drawn, domain, width), { x1: "start", x2: "stop", y1: 0, y2: 1, fill: `url(#p-${drawn.state})`, stroke: LOST.includes(drawn.state) ? "currentColor" : "none", strokeWidth: 0.7, title: "said", inset: 0 })),
        Plot.ruleX(told, { x: "at", stroke: "currentColor", strokeWidth: 2, title: (mark) => `${mark.name} ${mark.at}` }),
        ...(isWhole ? told.map((mark, index) => Plot.text([mark], { x: "at", text: "name", frameAnchor: "top", dy: -33 + (index % 3) * 11, textAnchor: mark.at > (domain[0] + domain[1]) / 2 ? "end" : "start", fill: "currentColor" })) : []),
      ],
    });
  };

  // The list -------------------------------------------------------------------------------
  const list = document.getElementById("rows");
  const controls = Object.fromEntries(["topic", "shown", "order", "found"].map((id) => [id, document.getElementById(id)]));
  const badges = ["✓ fine", "i worth knowing", "! needs a look"], classes = ["fine", "known", "look"];
  const byName = [...partitions].sort((a, b) => a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : a.number - b.number);
  const several = data.sources.length > 1;
  let current = partitions, held = new Map();

  const routine = (partition) => {
    const left = partition.strip.find((drawn) => drawn.state === "not_ingested_yet");
    if (left) return [`${shown(left.count)} offsets not ingested yet`, ...(partition.seen?.reasons ?? []).slice(0, 1)].join(": ");
    return partition.strip.length ? "nothing of it is known to be lost" : "its log is empty, as far as runs saw";
  };
  const row = (partition, place) => {
    const seen = partition.seen, first = partition.findings[0];
    const ingested = partition.strip.find((drawn) => drawn.state === "ingested");
    const what = first ? `${first.title}: ${first.text}` : routine(partition);
    const covered = ingested ? ingested.ranges[ingested.ranges.length - 1] : null;
    const made = element("button", { type: "button", class: "row", "data-index": partition.index, "aria-label": `${partition.name}: ${badges[partition.level].slice(2)}; ${what}` },
      element("span", { class: "title" }, element("div", { class: "name", title: partition.name }, partition.name), ...(several ? [element("div", { class: "says" }, partition.source)] : [])),
      element("span", { class: "state" }, element("span", { class: `badge ${classes[partition.level]}` }, badges[partition.level])),
      element("span", { class: "drawn what" }),
      element("span", { class: "figures" }, element("div", {}, `${shown(partition.records)} records`), element("small", {}, covered === null ? "nothing ingested" : `up to ${shown(covered)}`)));
    const holder = made.querySelector(".drawn");
    holder.append(element("div", { class: "says", title: what }, what));
    if (place !== null) made.style.top = `${place * height()}px`;
    made.setAttribute("aria-posinset", place === null ? 0 : place + 1);
    made.setAttribute("aria-setsize", current.length);
    return made;
  };
  const draw = (made) => {
    const holder = made.querySelector(".drawn");
    holder.prepend(strip(partitions[made.dataset.index], Math.max(120, Math.floor(holder.clientWidth)), false));
  };
  const height = () => NARROW.matches ? 104 : 56;
  const update = () => {
    const top = list.getBoundingClientRect().top, tall = height();
    const from = Math.max(0, Math.floor(-top / tall) - AROUND);
    const to = Math.min(current.length, Math.ceil((innerHeight - top) / tall) + AROUND);
    for (const [place, made] of held) if (place < from || place >= to) { made.remove(); held.delete(place); }
    for (let place = from; place < to; place++) {
      if (held.has(place)) continue;
      const made = row(current[place], place);
      held.set(place, made);
      list.append(made);
      draw(made);
    }
  };
  const refill = () => {
    held = new Map();
    list.replaceChildren();
    list.className = "scrolled";
    list.style.height = `${current.length * height()}px`;
    update();
  };
  const filter = () => {
    const wanted = controls.topic.value.trim().toLowerCase(), kind = controls.shown.value;
    const chosen = data.kindNames.indexOf(kind);
    const state = kind.startsWith("state-") ? kind.slice(6) : null;
    const level = kind.startsWith("level-") ? Number(kind.slice(6)) : null;
    current = (controls.order.value === "name" ? byName : partitions).filter((partition) =>
      (!wanted || partition.name.toLowerCase().includes(wanted))
      && (level === null || partition.level === level)
      && (chosen < 0 || partition.findings.some((finding) => finding.index === chosen))
      && (state === null || partition.strip.some((drawn) => drawn.state === state)));
    controls.found.textContent = `${shown(current.length)} of ${shown(partitions.length)} partitions`;
    refill();
  };

  // One partition --------------------------------------------------------------------------
  const dialog = document.getElementById("detail"), body = document.getElementById("detail-body");
  const swatch = (state) => {
    const ns = "http://www.w3.org/2000/svg", svg = document.createElementNS(ns, "svg"), rect = document.createElementNS(ns, "rect");
    svg.setAttribute("class", "swatch"); rect.setAttribute("width", "100%"); rect.setAttribute("height", "100%"); rect.setAttribute("class", `of-${state}`);
    svg.append(rect);
    return svg;
  };
  const rangesOf = (drawn) => {
    const pairs = [];
    for (let i = 0; i < drawn.ranges.length && pairs.length < MOST_RANGES; i += 2) pairs.push(`[${drawn.ranges[i]}, ${drawn.ranges[i + 1]})`);
    const more = drawn.ranges.length / 2 - pairs.length;
    return pairs.join(", ") + (more > 0 ? ` and ${shown(more)} more` : "");
  };
  const logFacts = (seen) => [
    ["log start", shown(seen.logStart)], ["last stable offset", shown(seen.lastStable)], ["high watermark", shown(seen.highWatermark)], ["log end", shown(seen.logEnd)],
    ["may be ingested up to", shown(seen.next)], ["stopped by", words(seen.stop)],
    ...(seen.waitingSince === null ? [] : [["offsets wait since", moment(seen.waitingSince)]]),
    ["seen", `${moment(seen.at)}${seen.broker === null ? "" : `, on broker ${seen.broker}`}`],
    ...seen.reasons.map((reason) => ["not ingested yet", reason]),
  ];
  const PLACE_HEADS = ["file", "position", "bytes", "what is wrong", "between offsets", ""];
  const placeCells = ([broker, segment, position, size, defect, detail, previous, next, isResolved, salvaged]) => [
    `${broker === null ? "" : `broker ${broker}: `}${data.segments[segment]}`, shown(position), shown(size), element("span", {}, element("code", {}, defect), ` ${detail}`),
    previous === null && next === null ? "–" : `${previous === null ? "the beginning" : shown(previous)} and ${next === null ? "the end" : shown(next)}`, isResolved ? "repaired" : salvaged ? `${shown(salvaged)} record${salvaged === 1 ? "" : "s"} in salvaged_records` : "",
  ];
  const show = (partition) => {
    body.replaceChildren(
      element("h2", { id: "detail-name" }, partition.name),
      element("p", { class: "aside" }, `cluster ${partition.source}${partition.id === null ? "" : `, topic id ${partition.id}`}`),
      ...(partition.findings.length ? partition.findings : [null]).map((finding) => finding === null
        ? element("p", {}, element("span", { class: "badge fine" }, badges[0]), ` ${routine(partition)}`)
        : element("div", { class: `finding ${classes[finding.level]}` }, element("b", {}, finding.title), element("p", {}, finding.text), element("p", { class: "advice" }, "What to do: ", ...code(finding.advice)))),
      element("h3", {}, "Offsets"), element("div", { class: "whole" }),
      table(["", "offsets", "where"], partition.strip.map((drawn) => [element("span", {}, swatch(drawn.state), ` ${words(drawn.state)}`), shown(drawn.count), rangesOf(drawn)])),
      ...(partition.damageCount ? [element("h3", {}, `Damage: ${shown(partition.damageCount)} place${partition.damageCount === 1 ? "" : "s"}`),
        table(PLACE_HEADS, partition.damage.map(placeCells)),
        ...(partition.damageCount > partition.damage.length ? [element("p", { class: "aside" }, `and ${shown(partition.damageCount - partition.damage.length)} more in the table quarantine`)] : [])] : []),
      ...(partition.seen ? [element("h3", {}, "The log, as a run saw it last"), table(["", ""], logFacts(partition.seen))] : []));
    dialog.showModal();
    const holder = body.querySelector(".whole");
    holder.append(strip(partition, Math.max(200, Math.floor(holder.clientWidth)), true));
    dialog.scrollTop = 0;
  };

  // All damage, of the most urgent partitions first ------------------------------------------
  const places = partitions.flatMap((partition) => partition.damage.map((place) => [partition.name, place]));
  const placeTable = (most) => document.getElementById("places").replaceChildren(
    table(["partition", ...PLACE_HEADS], places.slice(0, most).map(([name, place]) => [name, ...placeCells(place)])));
  if (places.length) {
    document.getElementById("damage").hidden = false;
    placeTable(MOST_PLACES);
    const more = document.getElementById("more-places");
    more.hidden = places.length <= MOST_PLACES;
    more.textContent = `show all ${shown(places.length)} places`;
    more.addEventListener("click", () => { placeTable(places.length); more.hidden = true; });
  }

  list.addEventListener("click", (event) => {
    const made = event.target.closest(".row");
    if (made) show(partitions[made.dataset.index]);
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  for (const button of document.querySelectorAll(".show")) {
    button.hidden = false;
    button.addEventListener("click", () => { controls.shown.value = button.dataset.kind; filter(); document.getElementById("partitions").scrollIntoView(); });
  }
  document.querySelector(".tools").addEventListener("submit", (event) => event.preventDefault());
  for (const name of ["topic", "shown", "order"]) controls[name].addEventListener("input", filter);
  let isAsked = false;
  addEventListener("scroll", () => { if (!isAsked) { isAsked = true; requestAnimationFrame(() => { isAsked = false; update(); }); } }, { passive: true });
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; refill(); } else update(); });
  addEventListener("beforeprint", () => {
    list.className = "";
    list.style.height = "auto";
    held = new Map();
    list.replaceChildren(...current.slice(0, MOST_PRINTED).map((partition) => row(partition, null)));
    for (const made of list.children) draw(made);
    if (current.length > MOST_PRINTED) list.append(element("p", {}, `and ${shown(current.length - MOST_PRINTED)} more partitions`));
  });
  addEventListener("afterprint", refill);
  filter();
})();
