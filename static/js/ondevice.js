// What the device keeps: for the path of each section the requests that the server may not
// have taken, oldest first, for a tab that is killed. Of this page that is one request, with
// all that is typed; those before it are of earlier loads of the section.
//
// - What is typed is kept from the first key on, until an answer of the session says that it
//   is stored. A key can be lost only if the device itself stops before its field is left.
// - Keeping or forgetting what this page has typed never drops what earlier loads left: keep
//   waits until that is known, and forget writes it again.
// - Nothing is kept of a session that is closed. Other sessions' paths are not touched.
// - A device that can't keep anything, or stops to, delays and breaks nothing.
const sessionPath = location.pathname.split("/").slice(0, 3).join("/");
const inSession = () => IDBKeyRange.bound(sessionPath, `${sessionPath}\uffff`);
let device; // its store, once it is open
let known; // when earlier is
// What earlier loads of a path left: requests to send, and those sent that collide, for when
// the section is opened again.
export let earlier = { unsent: [], parked: [] };

// The store stays open: a page whose tab is killed has begun no write that needs the page
// again.
function store() {
  return (device ??= new Promise((done) => {
    const opening = indexedDB.open("candor", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("typed");
    opening.onerror = () => done();
    opening.onsuccess = () => done(opening.result);
  }));
}

async function onDevice(mode, work, durability = "strict", again = true) {
  try {
    const kept = (await store()).transaction("typed", mode, { durability });
    const request = work(kept.objectStore("typed"));
    kept.commit?.();
    return await new Promise((done) => {
      kept.oncomplete = kept.onabort = () => done(request.result);
    });
  } catch {
    device = undefined; // a phone closes it while the page is in the background
    if (again) return onDevice(mode, work, durability, false);
  }
}

export const paths = () => onDevice("readonly", (kept) => kept.getAllKeys(inSession()));
// read returns the requests of a path.
export const read = async (path) => (await onDevice("readonly", (kept) => kept.get(path))) ?? [];
export const write = (path, requests, durability) => onDevice("readwrite", (kept) => (requests.length ? kept.put(requests, path) : kept.delete(path)), durability);
export const forgetSession = () => onDevice("readwrite", (kept) => kept.delete(inSession()));

// recall learns what earlier loads of the path left, by reading it if it is a section's.
export function recall(path, isSection) {
  if (!isSection) return void (earlier = { path, unsent: [], parked: [] });
  return (known = read(path).then((unsent) => void (earlier = { path, unsent, parked: [] })));
}

const of = (path) => (path === earlier.path ? earlier : { unsent: [], parked: [] });
export const unsent = (path) => of(path).unsent;
const left = (path) => [...of(path).parked, ...of(path).unsent];
export const leaves = (path) => left(path).length;

// keep puts a request on the device, after what earlier loads of the path left.
export async function keep(path, request, durability) {
  await known;
  write(path, [...left(path), request], durability);
}

// forget drops what this page keeps.
export const forget = (path) => write(path, left(path), "relaxed"); // keys wait for it

// owe makes a request one of those that earlier loads left.
export async function owe(path, request) {
  await known;
  earlier.unsent.push(request);
  forget(path);
}
