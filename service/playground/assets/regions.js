// @ts-check
// Names for the regions of a map: the words that documents of a region have more often than the others.

const REGIONS = 6;
const ROUNDS = 12;
const LEAST = 8; // documents of a region with a name
const TERMS = 2; // of a name
const COMMON = 0.25; // share of all documents beyond which a word tells nothing
const WORD = /[\p{L}\p{N}]{4,}/gu;

/** Greetings and thanks, which stand in letters whatever they are about. */
const GREETINGS = new Set(
  (
    "hello dear best kind regards sincerely yours cheers greetings thanks thank please team hallo guten morgen abend liebe " +
    "lieber geehrte geehrter damen herren viele freundliche freundlichen beste besten schöne grüße grüßen gruß danke " +
    "dank vielen bitte bonjour bonsoir madame monsieur cordialement salutations merci hola buenos saludos gracias ciao " +
    "buongiorno saluti grazie"
  ).split(" "),
);

/** @typedef {{x: number, y: number, text: string}} Place */

/**
 * Words that name nothing: of the lists of the service, and greetings.
 * @param {string} lists words.txt, as the service has it
 */
export const emptyWords = (lists) => new Set([...(lists.replace(/^#.*/gm, "").match(WORD) ?? []), ...GREETINGS]);

/**
 * The middle, the name and the points of each region, which nearest means (k-means) part.
 * @template {Place} P
 * @param {P[]} points
 * @param {Set<string>} left words that name nothing
 * @returns {{x: number, y: number, name: string, points: P[]}[]}
 */
export function regionNames(points, left) {
  const sorted = [...points].sort((one, other) => one.x - other.x);
  /** @type {Place[]} */
  let middles = Array.from({ length: REGIONS }, (_, i) => sorted[Math.floor(((i + 0.5) * sorted.length) / REGIONS)]);
  /** @type {P[][]} */
  let regions = [];
  for (let round = 0; round < ROUNDS; round++) {
    regions = middles.map(() => []);
    for (const point of points) regions[nearest(middles, point)].push(point);
    middles = regions.map((region, i) => (region.length ? { ...mean(region), text: "" } : middles[i]));
  }
  const all = counts(points);
  for (const word of left) all.delete(word);
  return regions.flatMap((region) => {
    const name = region.length < LEAST ? "" : terms(region, all, points.length);
    return name ? [{ ...mean(region), name, points: region }] : [];
  });
}

/** @param {Place[]} middles @param {Place} point */
function nearest(middles, { x, y }) {
  const distances = middles.map((each) => (each.x - x) ** 2 + (each.y - y) ** 2);
  return distances.indexOf(Math.min(...distances));
}

/** @param {Place[]} region */
function mean(region) {
  const sum = (/** @type {"x" | "y"} */ axis) => region.reduce((total, each) => total + each[axis], 0);
  return { x: sum("x") / region.length, y: sum("y") / region.length };
}

/**
 * How many documents have each word.
 * @param {Place[]} points
 */
function counts(points) {
  /** @type {Map<string, number>} */
  const found = new Map();
  for (const { text } of points)
    for (const word of new Set(text.toLowerCase().match(WORD) ?? [])) found.set(word, (found.get(word) ?? 0) + 1);
  return found;
}

/**
 * The words with the largest log-likelihood of being told by the region.
 * @param {Place[]} region
 * @param {Map<string, number>} all
 * @param {number} total
 */
function terms(region, all, total) {
  const scored = [...counts(region)]
    .filter(([word, count]) => count > 1 && all.has(word) && (all.get(word) ?? 0) <= COMMON * total)
    .map(([word, count]) => {
      const usual = ((all.get(word) ?? 0) * region.length) / total;
      return { word, score: count * Math.log(count / usual) };
    });
  scored.sort((one, other) => other.score - one.score);
  return scored
    .slice(0, TERMS)
    .map(({ word }) => word)
    .join(", ");
}
