"use strict";
// What comes from the server or from the files of a bundle (scans, masks), and the answers on their way back. Knows nothing of the page.

const wait = (ms) => new Promise((over) => setTimeout(over, ms));

// The secret of the link is kept for this tab and leaves the address bar.
const token = (() => {
  if (window.BUNDLE) return "";
  if (location.hash.length > 1) {
    sessionStorage.setItem("token", location.hash.slice(1));
    history.replaceState(null, "", location.pathname + location.search);
  }
  window.addEventListener("hashchange", () => location.reload()); // another link was opened in this tab
  return sessionStorage.getItem("token");
})();

// Not crypto.randomUUID, which a tablet in a local network without https lacks.
function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  (bytes[6] = (bytes[6] & 15) | 64), (bytes[8] = (bytes[8] & 63) | 128);
  const text = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return text.replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
}

// HMAC-SHA256 in hexadecimal digits; pages from a disk count as secure, so browsers have it there.
async function signed(secret, text) {
  const bytes = (one) => new TextEncoder().encode(one), how = { name: "HMAC", hash: "SHA-256" };
  const sum = await crypto.subtle.sign("HMAC", await crypto.subtle.importKey("raw", bytes(secret), how, false, ["sign"]), bytes(text));
  return [...new Uint8Array(sum)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

class Refused extends Error {
  constructor(status, text) {
    super(text || `The server refused it (${status}).`);
    this.status = status;
  }
}

function unbase(text) {
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let n = 0; n < bytes.length; n++) bytes[n] = letters.charCodeAt(n);
  return bytes;
}

const inflate = (bytes, format) => new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format))).arrayBuffer();

// Files of a bundle are scripts, because a page from file:// may read nothing else.
const expected = new Map();
window.bundled = (name, payload) => expected.get(name.replaceAll("/", "-"))?.(payload);

function unpack(name) {
  const file = name.replaceAll("/", "-"), script = document.createElement("script");
  return new Promise((arrived, failed) => {
    expected.set(file, arrived);
    script.onload = script.onerror = () => failed(new Refused(404, `The file data/${file}.js is missing or damaged.`)); // without effect once it has arrived
    script.src = `data/${encodeURIComponent(file)}.js`;
    document.head.append(script);
  }).finally(() => (expected.delete(file), script.remove()));
}

// One request; `raw` for bytes instead of JSON.
async function ask(name, { body, raw, signal } = {}) {
  if (window.BUNDLE) {
    const payload = await unpack(name);
    signal?.throwIfAborted();
    return raw ? inflate(unbase(payload), "gzip") : payload;
  }
  const headers = { Authorization: `Bearer ${token}`, ...(body && { "Content-Type": "application/json" }) };
  const reply = await fetch(`api/${name}`, {
    method: body ? "POST" : "GET", headers, cache: "no-store", keepalive: Boolean(body), body: body && JSON.stringify(body),
    signal: signal ?? AbortSignal.timeout(30000),
  });
  if (!reply.ok) throw new Refused(reply.status, (await reply.json().catch(() => null))?.error);
  return raw ? reply.arrayBuffer() : body ? reply.json().catch(() => ({})) : reply.json(); // what was accepted is accepted
}

// The network, a server that is gone or busy: worth another try.
const passing = (error) => !error.status || error.status === 429 || error.status >= 500;

async function patiently(name, options, trouble) {
  for (let pause = 500; ; pause = Math.min(2 * pause, 8000))
    try {
      const got = await ask(name, options);
      trouble(null);
      return got;
    } catch (error) {
      if (options.signal?.aborted || !passing(error)) throw error;
      trouble(error);
      await wait(pause);
    }
}

// A scan that fills slab by slab, those around a wanted slice first.
class Volume {
  constructor(code, info, trouble) {
    const [depth, height, width] = info.shape;
    Object.assign(this, { code, info, trouble, count: 0, changed: () => {} });
    this.layer = height * width * info.channels;
    this.data = new (info.dtype === "int16" ? Int16Array : Uint8Array)(depth * this.layer);
    this.words = info.dtype === "int16" ? new Uint16Array(this.data.buffer) : this.data; // what a table is looked up with
    this.have = new Uint8Array(Math.ceil(depth / info.slab));
  }

  has(z) { return this.have[Math.floor(z / this.info.slab)] === 1; }

  get complete() { return this.count === this.have.length; }

  // Goes on where it was stopped; resolves when all is there.
  load(z) {
    this.focus = z;
    return (this.loading ??= this.run());
  }

  stop() {
    this.control?.abort();
    this.loading = null;
  }

  async run() {
    const control = (this.control = new AbortController());
    const open = new Set([...this.have.keys()].filter((slab) => !this.have[slab]));
    const nearest = () => [...open].reduce((best, slab) => (this.distance(slab) < this.distance(best) ? slab : best));
    const next = async () => {
      const slab = nearest();
      open.delete(slab);
      await this.fetch(slab, control.signal);
    };
    const worker = async () => { while (open.size) await next(); };
    try {
      if (open.size) await next(); // alone, to be there early
      await Promise.all([worker(), worker(), worker(), worker()]);
    } finally {
      if (this.control === control) control.abort(), (this.loading = null); // one that failed stops the others
    }
  }

  // For each stored number the pixel it gets when grey runs from low to high.
  table({ low, high }) {
    const { dtype, slope, intercept } = this.info, table = new Uint32Array(dtype === "int16" ? 65536 : 256), span = Math.max(high - low, 1e-6);
    for (let n = 0; n < table.length; n++) {
      const value = (n < 32768 ? n : n - 65536) * slope + intercept;
      const grey = Math.min(255, Math.max(0, Math.round((255 * (value - low)) / span)));
      table[n] = 0xff000000 | (grey << 16) | (grey << 8) | grey;
    }
    return table;
  }

  distance(slab) { return Math.abs((slab + 0.5) * this.info.slab - this.focus - 0.5); }

  async fetch(slab, signal) {
    const bytes = await patiently(`image/${this.code}/${slab}`, { raw: true, signal }, this.trouble);
    const part = new this.data.constructor(bytes), from = slab * this.info.slab * this.layer;
    if (part.length !== Math.min(this.info.slab * this.layer, this.data.length - from)) throw new Error("A part of the scan has the wrong size.");
    if (signal.aborted) return;
    this.data.set(part, from);
    this.have[slab] = 1;
    this.count++;
    this.changed();
  }
}

// A mask in its box, still eight voxels a byte.
class Mask {
  constructor(box, bits) {
    this.bits = bits;
    this.low = box ? box.slice(0, 3) : [0, 0, 0];
    this.size = box ? this.low.map((low, axis) => Math.max(0, box[axis + 3] - low)) : [0, 0, 0];
    this.middle = this.find();
    this.empty = !this.middle;
  }

  // Its voxels in one plane, or null where there are none. row, column: the axes that they are of the plane.
  cut(axis, index, row = axis ? 0 : 1, column = axis === 2 ? 1 : 2) {
    const { size, bits, low } = this, n = index - low[axis];
    if (n < 0 || n >= size[axis]) return null;
    const step = [size[1] * size[2], size[2], 1];
    const [height, width] = [size[row], size[column]], cells = new Uint8Array(height * width);
    let area = 0;
    for (let r = 0, to = 0; r < height; r++)
      for (let c = 0, from = n * step[axis] + r * step[row]; c < width; c++, from += step[column])
        area += cells[to++] = (bits[from >> 3] >> (7 - (from & 7))) & 1;
    return area ? { row: low[row], column: low[column], height, width, cells, area } : null;
  }

  // The slice where it is largest, and its middle there.
  find() {
    let best = null;
    for (let z = this.low[0]; z < this.low[0] + this.size[0]; z++) {
      const cut = this.cut(0, z);
      if (cut && cut.area > (best?.area ?? 0)) best = { z, ...cut };
    }
    if (!best) return null;
    let y = 0, x = 0;
    for (let n = 0; n < best.cells.length; n++) if (best.cells[n]) (y += Math.floor(n / best.width)), (x += n % best.width);
    return [best.z, best.row + Math.round(y / best.area), best.column + Math.round(x / best.area)];
  }
}

const unpackMask = async ({ box, bits }) => new Mask(box, new Uint8Array(bits ? await inflate(unbase(bits), "deflate") : 0));

async function loadJob(id, trouble) {
  const job = await patiently(`job/${id}`, {}, trouble);
  job.masks = await Promise.all(job.masks.map(unpackMask));
  return job;
}

// What was answered and is not yet accepted, in order, and what else outlasts a closed tab. Read anew before each change, since another
// tab may have changed it; what is sent twice has the same id. In a bundle nothing is sent and all is kept.
class Outbox {
  constructor(key, listener) {
    Object.assign(this, { key, listener, failing: null, busy: false, memory: null, awake: () => {} });
    window.addEventListener("online", () => this.awake());
    window.addEventListener("storage", (event) => event.key === key && listener({}));
  }

  read() {
    const text = this.memory ?? localStorage.getItem(this.key);
    return { queue: [], drafts: {}, saved: [], practised: 0, trained: false, last: null, ...(text && JSON.parse(text)) };
  }

  change(edit) {
    const kept = this.read();
    edit(kept);
    const text = JSON.stringify(kept);
    try {
      localStorage.setItem(this.key, text);
      this.memory = null;
    } catch {
      this.memory = text; // no room, or forbidden: until this page is closed
    }
  }

  send(name, body, edit = () => {}) {
    this.change((kept) => {
      kept.queue.push({ id: body.id ?? uuid(), name, body });
      edit(kept);
    });
    this.listener({});
    this.flush();
  }

  // The places answered when all that waits has arrived.
  settled(done) {
    const places = new Set(done);
    for (const { name, body } of this.read().queue) {
      if (name === "answers") places.add(body.place);
      if (name === "undo") places.delete(body.place);
    }
    return places;
  }

  get waiting() { return this.read().queue.filter(({ name }) => name === "answers").length; }

  // The last answer, unless it was taken back; in another browser the last place that is answered.
  last(done) {
    const { last } = this.read(), settled = this.settled(done);
    if (last) return last.undone || !settled.has(last.place) ? null : last;
    return settled.size ? { place: Math.max(...settled), answer: {} } : null;
  }

  // Of a bundle: the answers that were not taken back.
  answers() {
    const answers = new Map();
    for (const { name, body } of this.read().queue) {
      answers.delete(body.place);
      if (name === "answers") answers.set(body.place, body);
    }
    return [...answers.values()];
  }

  async flush() {
    if (window.BUNDLE || this.busy) return;
    this.busy = true;
    for (let pause = 1000; ; ) {
      const [first] = this.read().queue;
      if (!first) break;
      const drop = () => this.change((kept) => (kept.queue = kept.queue.filter(({ id }) => id !== first.id)));
      try {
        const reply = await ask(first.name, { body: first.body });
        drop();
        (this.failing = null), (pause = 1000);
        this.listener({ accepted: first, done: reply.done });
      } catch (error) {
        if (error.status === 409 || error.status === 422) {
          drop();
          this.listener({ refused: first, error });
          continue;
        }
        this.failing = error;
        this.listener({});
        await Promise.race([wait(pause), new Promise((awake) => (this.awake = awake))]);
        pause = Math.min(2 * pause, 10000);
      }
    }
    this.busy = false;
    this.listener({});
  }
}

// Masks and scans by id and by case, of which only the latest are kept.
class Stock {
  constructor(cases, trouble) { Object.assign(this, { cases, trouble, jobs: new Map(), volumes: new Map() }); }

  job(id) {
    if (!this.jobs.has(id)) this.jobs.set(id, loadJob(id, this.trouble).catch((error) => (this.jobs.delete(id), Promise.reject(error))));
    for (const old of [...this.jobs.keys()].slice(0, -4)) if (old !== id) this.jobs.delete(old);
    return this.jobs.get(id);
  }

  // At most two scans are in memory: the one that is shown and this one.
  volume(code, shown) {
    if (this.volumes.has(code)) return this.volumes.get(code);
    for (const [other, volume] of this.volumes) if (volume !== shown) volume.stop(), this.volumes.delete(other);
    this.volumes.set(code, new Volume(code, this.cases[code], this.trouble));
    return this.volumes.get(code);
  }
}
