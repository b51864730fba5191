import { describe, expect, it } from 'vitest';
import {
  effortOfStep,
  expandStepText,
  formatStepText,
  parseDockerWord,
  parseStepText,
  StepTextError,
} from '../src/step-text.js';

const VALUES: Record<string, string> = { A: 'one', B: 'two', E: '', P: 'a/b.tar.gz', S: '*x*', N: '😀é' };
const find = (name: string) => (Object.hasOwn(VALUES, name) ? VALUES[name] : undefined);

describe('the text of a step', () => {
  it.each([
    ['$A/${B}', 'one/two'],
    ['$UNKNOWN-', '-'],
    ['$A_', ''],
    ['100$', '100$'],
    ['$(id) `id` $1 $$ "$A" \'$A\'', '$(id) `id` $1 $$ "one" \'one\''],
    ['${constructor}$toString', ''],
    ['\\$A', '$A'],
    ['\\\\$A', '\\one'],
    ['\\\\\\$A', '\\$A'],
    ['C:\\x\\\\y\\', 'C:\\x\\\\y\\'],
    ['a}b{c\\}', 'a}b{c\\}'],
    ['${A:-x}${E:-x}${U:-x}', 'onexx'],
    ['${A-x}${E-x}${U-x}', 'onex'],
    ['${A:+x}|${E:+x}|${U:+x}', 'x||'],
    ['${A+x}|${E+x}|${U+x}', 'x|x|'],
    ['${U:-${E:-$A-$B}}', 'one-two'],
    ['${U:-{\\}\\$\\\\}}', '{}$\\}'],
    ['${U:-\\\\}', '\\'],
    ['${A:?no}', 'one'],
    ['${P#*/}', 'b.tar.gz'],
    ['${P#b}', 'a/b.tar.gz'],
    ['${P%.*}', 'a/b.tar'],
    ['${P%%.*}', 'a/b'],
    ['${P##*[./]}', 'a/b.tar.gz'],
    ['${P##*.}', 'gz'],
    ['${P%.??}|${P%%*}|${P##*}|${P#*}|${P%}', 'a/b.tar|||a/b.tar.gz|a/b.tar.gz'],
    ['${S#\\*}|${S%\\*}|${S#*x}|${S##*}', 'x*|*x|*|'],
    ['${P#*?.*}|${P##*?.*t}|${P#?*?}|${P##?*.}|${P%?*a*}', 'tar.gz|ar.gz|b.tar.gz|gz|a/b.'],
    ['${P##*a*r}|${P%a*?}|${P%%?a*}', '.gz|a/b.t|a/b.'],
    ['${U%x}|${A%$B}|${A%${U:-ne}}', '|one|o'],
    ['${N#?}|${N%?}', 'é|😀'],
  ])('%j becomes %j, and is the same when it is written anew', (text, expected) => {
    const read = parseStepText(text);
    expect(expandStepText(read, find)).toBe(expected);
    expect(expandStepText(parseStepText(formatStepText(read)), find)).toBe(expected);
    expect(parseStepText(formatStepText(read))).toEqual(read);
  });

  it.each(['${', '${}', '${A', '${A:-x', '${1}', '${A^^}', '${A:1}', '${A/x/y}', '${#A}', '${!A}', '${A b}'])(
    'refuses %j, which it does not know',
    (text) => {
      expect(() => parseStepText(text)).toThrow(StepTextError);
    },
  );

  it('reports a value that is asked for and missing', () => {
    expect(() => expandStepText(parseStepText('${U:?set U to $A}'), find)).toThrow('U: set U to one');
    expect(() => expandStepText(parseStepText('${E:?}'), find)).toThrow('E: it has no value');
    expect(expandStepText(parseStepText('${E?}'), find)).toBe('');
  });

  it('stays within what memory and time there are, with any text', () => {
    let value = 'x'.repeat(1_000);
    const double = () => {
      value = expandStepText(parseStepText('$V$V'), () => value);
    };
    expect(() => {
      for (let round = 0; round < 60; round++) double();
    }).toThrow(/longer than 131072/);
    expect(() => parseStepText('${A:-'.repeat(10_000))).toThrow(/too deep/);
    for (const pattern of [`${'*a'.repeat(400)}b`, '*'.repeat(1_000), `${'*?'.repeat(499)}*b`])
      for (const operator of ['#', '##', '%', '%%'])
        expect(
          expandStepText(parseStepText(`\${A${operator}${pattern}}`), () => 'a'.repeat(5_000)).length,
        ).toBe(pattern.endsWith('b') || operator.length === 1 ? 5_000 : 0);
    const costly = parseStepText(`\${A##${'*a'.repeat(400)}b}`);
    expect(() => expandStepText(costly, () => 'a'.repeat(100_000))).toThrow(/too long/);
    const effort = effortOfStep();
    const many = () => expandStepText(parseStepText('${A%x}'), () => 'a'.repeat(100_000), effort);
    expect(() => {
      for (let use = 0; use < 1_000; use++) many();
    }).toThrow(/too long/);
    expect(() => expandStepText(parseStepText('${A#$A}'), () => 'a'.repeat(5_000))).toThrow(/pattern/);
  });
});

describe('a word of a Dockerfile', () => {
  it.each([
    ['"two words"$A', 'two wordsone'],
    ["'$A'", '$A'],
    ["'\\$A \\' ", '\\$A \\ '],
    ['"$A \'$A\'"', "one 'one'"],
    ['"x \\$A \\" \\\\ \\n"', 'x $A " \\ \\n'],
    ['\\$A\\ b\\"\\n', '$A b"n'],
    ['\\\\$A', '\\one'],
    ['"\\\\$A"', '\\one'],
    ['${U:-"a}b"}', 'a}b'],
    ["${U:-'$A'}c", '$Ac'],
    ['${U:-${U:-${B}}}', 'two'],
    ['"${U:-"in quotes"}"', 'in quotes'],
    ['${U:-\\}}', '}'],
    ['$(id)', '$(id)'],
    ['a$', 'a$'],
    ['/opt/$A:$PATH', '/opt/one:'],
    ['${S#\\*}', 'x*'],
    ['${P%.*}', 'a/b.tar'],
    ['end\\', 'end\\'],
    ['a\'b\'"c"d', 'abcd'],
    ['""', ''],
  ])('%j becomes %j, also on its way through a step', (word, expected) => {
    const read = parseDockerWord(word);
    expect(expandStepText(read, find)).toBe(expected);
    expect(expandStepText(parseStepText(formatStepText(read)), find)).toBe(expected);
  });

  it('has the escape that the file names', () => {
    expect(expandStepText(parseDockerWord('C:\\x`$A`"', '`'), find)).toBe('C:\\x$A"');
  });

  it.each(['"a', "'a", '${A:-"x}', '$1', '$$', '${A!x}'])('refuses %j', (word) => {
    expect(() => parseDockerWord(word)).toThrow(StepTextError);
  });
});
