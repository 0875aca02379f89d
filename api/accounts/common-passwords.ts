// Passwords of twelve characters and more that everybody tries first: lists of leaked passwords hold them in their first thousands.

const COMMON = new Set(
  `123456789012 1234567890123 12345678901234 123456789101112 1234567891011 012345678901 0123456789012 123456789123 123123123123
  111111111111 000000000000 222222222222 777777777777 888888888888 999999999999 121212121212 987654321098 123456123456 123451234512345
  112233445566 11223344556677 qwertyuiopasdf qwertyuiop12 qwertyuiop123 qwertyuiop1234 qwertyqwerty qwerty123456 qwerty1234567 qwerty12345678
  qwerty123456789 1qaz2wsx3edc 1q2w3e4r5t6y 1q2w3e4r5t6y7u 1q2w3e4r5t6y7u8i q1w2e3r4t5y6 q1w2e3r4t5y6u7 zaq12wsxcde3 qazwsxedcrfv asdfghjklqwe
  asdfghjkl123 asdfasdfasdf zxcvbnmasdfg abcdefghijkl abcdefghijklm abcdefghijklmnop abcd12345678 abc123456789 abcabcabcabc aaaaaaaaaaaa
  password1234 password12345 password123456 password1234567 passwordpassword passw0rd1234 p@ssw0rd1234 p@ssword1234 password2024 password2025
  password2026 mypassword123 iloveyou1234 iloveyouiloveyou iloveyou123456 letmein12345 letmeinletmein welcome12345 welcome123456 administrator
  administrator1 admin1234567 adminadminadmin changeme1234 changemechangeme football1234 baseball1234 basketball12 superman1234 princess1234
  sunshine1234 monkeymonkey dragondragon trustno1trustno1 whateverwhatever computer1234 internet1234 samsung12345 correcthorsebatterystaple
  bitcoin12345 bitcoinbitcoin ethereum1234 tothemoon1234 cryptocrypto trading12345`
    .split(/\s+/)
    .filter((word) => word !== ''),
);

/** One short piece over and over, or neighbours in a row (`abababababab`, `123456789012`), is as common as what is listed. */
const isPattern = (text: string): boolean => /^(.{1,4})\1+.{0,3}$/u.test(text) || new Set(text).size < 4;

export const isCommonPassword = (password: string): boolean => {
  const text = password.toLowerCase();
  return COMMON.has(text) || COMMON.has(text.replace(/[!.?]+$/, '')) || isPattern(text);
};
