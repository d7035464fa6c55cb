/**
 * Light stemmers: they remove endings of number, gender, case and the commonest forms of verbs, and
 * the commonest endings of derived words. Each is a list of steps; a step replaces the first ending
 * of its list that leaves enough of the word. Words are folded, so no ending has an accent.
 */

/** Replaces an ending if at least `rest` letters are left. */
interface Ending {
  readonly ending: string;
  readonly instead: string;
  readonly rest: number;
}

interface Step {
  readonly endings: readonly Ending[];
  /** How many times the step is taken at most. */
  readonly times: number;
}

/** Endings separated by blanks; `aux>al` replaces one by another. */
function step(rest: number, endings: string, times = 1): Step {
  const list = endings.split(' ').map((written) => {
    const [ending = '', instead = ''] = written.split('>');
    return { ending, instead, rest };
  });
  return { endings: list, times };
}

function lightStemmer(steps: readonly Step[]): (word: string) => string {
  return (word) => {
    let stem = word;
    for (const { endings, times } of steps) {
      for (let time = 0; time < times; time++) {
        const shorter = shortened(stem, endings);
        if (shorter === stem) break;
        stem = shorter;
      }
    }
    return stem;
  };
}

function shortened(word: string, endings: readonly Ending[]): string {
  for (const { ending, instead, rest } of endings) {
    const left = word.length - ending.length;
    if (left >= rest && word.endsWith(ending)) return word.slice(0, left) + instead;
  }
  return word;
}

/** Cases, plurals and comparison; an `s` or `st` goes behind letters where it can be an ending. */
const germanSteps: readonly Step[] = [
  step(3, 'ern em en er es e bs>b ds>d fs>f gs>g hs>h ks>k ls>l ms>m ns>n ts>t'),
  step(3, 'est er en bst>b dst>d fst>f gst>g hst>h kst>k lst>l mst>m nst>n tst>t'),
];

const dutchSteps: readonly Step[] = [
  step(3, 'heden>heid eren ingen>ing en es s e'),
  step(3, 'tje je lijk ig baar'),
];

const frenchSteps: readonly Step[] = [
  step(2, 'eaux>eau aux>al s x'),
  step(
    3,
    'issement issant ement ation atrice ateur ance ence ique isme iste able euse>eu eur>eu ive>if',
  ),
  step(3, 'aient erait erai era ait ais ant ent ee er ez ir e i', 2),
];

const spanishSteps: readonly Step[] = [
  step(3, 'amente mente'),
  step(2, 'ces>z'),
  step(3, 'es s'),
  step(3, 'acion ador adora ancia encia idad ismo ista able ible iva>iv ivo>iv osa>os oso>os'),
  step(4, 'ido ida'),
  step(3, 'ando iendo aban aba ado ada aron ieron ar er ir an en a e o'),
];

const italianSteps: readonly Step[] = [
  step(3, 'amente mente'),
  step(
    3,
    'azione azioni atore atori atrice anza anze enza enze ita ismo ismi ista isti iste ' +
      'abile abili ibile ibili',
  ),
  step(
    3,
    'ando endo avano ava ato ata ati ate ito ita iti ite uto uta uti ute are ere ire ano ono ' +
      'che>c chi>c ghe>g ghi>g ie io ia a e i o',
  ),
];

const portugueseSteps: readonly Step[] = [
  step(3, 'amente mente'),
  step(3, 'coes>cao oes>ao aes>ao ais>al eis>el ns>m res>r zes>z s'),
  step(3, 'acao ador adora ancia encia idade ismo ista avel ivel iva>iv ivo>iv osa>os oso>os'),
  step(3, 'ando endo indo avam ava ado ada ido ida aram eram ar er ir am em a e o'),
];

export const stemGerman = lightStemmer(germanSteps);
export const stemDutch = lightStemmer(dutchSteps);
export const stemFrench = lightStemmer(frenchSteps);
export const stemSpanish = lightStemmer(spanishSteps);
export const stemItalian = lightStemmer(italianSteps);
export const stemPortuguese = lightStemmer(portugueseSteps);
