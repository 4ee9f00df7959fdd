#include "core/elementary.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <regex>
#include <set>
#include <string>

#include "core/files.hpp"
#include "core/simd.hpp"

namespace fedstride::test::elementary_test {
namespace {

/// A value worked out to 150 digits by mpmath, as a double and what is left.
struct Value {
  double high;
  double low;
};
struct Exact {
  double x;
  Value value;
};
struct ExactPower {
  double x;
  double y;
  Value value;
};

constexpr Exact kExp[] = {
    {0x0.0p+0, {0x1.0000000000000p+0, 0x0.0p+0}},
    {0x1.0000000000000p+0, {0x1.5bf0a8b145769p+1, 0x1.4d57ee2b1013ap-53}},
    {-0x1.0000000000000p+0, {0x1.78b56362cef38p-2, -0x1.ca8a4270fadf5p-57}},
    {0x1.0000000000000p-1, {0x1.a61298e1e069cp+0, -0x1.b4690082a4906p-55}},
    {-0x1.62e42fead449cp-2, {0x1.6a09e669a7145p-1, -0x1.82f625f3abc81p-58}},
    {0x1.62e43096a0c0dp-2, {0x1.6a09e6a2fdd69p+0, 0x1.5acdfd93829f5p-55}},
    {0x1.12e0be826d695p-30, {0x1.000000044b830p+0, -0x1.7b444af5c26a7p-54}},
    {-0x1.6200000000000p+9, {0x1.7c8ab2288c9abp-1022, 0x0.0p+0}},
    {0x1.62d999999999ap+9, {0x1.d75ae7a50ee14p+1023, -0x1.a7242fe782b54p+968}},
    {-0x1.f4c715912b4c0p+5, {0x1.9d60b2c95057bp-91, 0x1.2fc4f0c77d5d8p-145}},
    {0x1.62e08e1428f48p+6, {0x1.fe2fe51a7ee49p+127, -0x1.e571b2da604c7p+73}},
    {0x1.2d1b3a2d0bc7ap+9, {0x1.c09a49946225ep+868, 0x1.15cb97f4f2aedp+812}},
    {-0x1.5f3141c55e470p+5, {0x1.967c077923386p-64, 0x1.503afa0e2148bp-119}},
    {0x1.f18c1d2709840p+3, {0x1.594228a53aeedp+22, -0x1.57f64d4cd4752p-32}},
    {0x1.fe803aae49358p+6, {0x1.1707bc1fe7ac6p+184, -0x1.a0670cd299f72p+130}},
    {-0x1.b7d0467c09be4p+8, {0x1.65d4cecb25b70p-635, 0x1.46b48a0d32608p-689}},
    {0x1.5477e658b3660p+4, {0x1.9fbab668de19cp+30, -0x1.4f71494935dc2p-28}},
    {0x1.77026ef50459cp+7, {0x1.6d1b7cb28d34ep+270, 0x1.cbc0dc89bf2d5p+212}},
    {0x1.a14dee090a330p+8, {0x1.07bf15abc2e8fp+602, 0x1.3a21c28d5bf61p+547}},
    {-0x1.1bb0a57bec010p+9, {0x1.5c297ecb92457p-819, 0x1.3b784a9903eacp-873}},
    {-0x1.1081f37286bdcp+8, {0x1.ceea7f4e9df99p-394, -0x1.0cde30e43892ap-448}},
    {-0x1.a327433b0c176p-1, {0x1.c39b749208e29p-2, 0x1.8b2428f132682p-56}},
    {0x1.3d1374f1f7fcep-1, {0x1.db8c20e651286p+0, 0x1.97454c888df24p-54}},
    {0x1.8c2979a26b7f4p-2, {0x1.78ed96e2fa165p+0, -0x1.9a63cc0b2418dp-54}},
    {-0x1.d51d5233c8bcap-1, {0x1.999efd847efbdp-2, -0x1.7e9cd9b64ab21p-56}},
    {0x1.edc41cb2b55eap-1, {0x1.4fc452282b3fep+1, -0x1.30618779ceb77p-53}},
    {0x1.dbe976b9fbbc4p-1, {0x1.444292d32cd04p+1, 0x1.afbc0ff4a971bp-53}},
    {0x1.3b3bbcbd29974p-2, {0x1.5c4915bf71e9fp+0, 0x1.8bdda30c07d10p-58}},
    {0x1.d958474cd61a0p-3, {0x1.42907d854d137p+0, 0x1.5f399020339aap-56}},
    {-0x1.5eb9de303d53cp-1, {0x1.021755938624fp-1, -0x1.22645ef63de57p-55}},
    {-0x1.f0a3a5958acd2p-1, {0x1.842e7d8b68887p-2, -0x1.0744c29d92dc8p-62}},
    {0x1.d0ffa8815c9c0p-5, {0x1.0ef397f7bdd8dp+0, -0x1.07286618e20fep-58}},
    {-0x1.c30508fb6fbaep-1, {0x1.a85b46b38fd21p-2, 0x1.093a6300e33e9p-58}},
};
constexpr Exact kLog[] = {
    {0x1.0000000000000p+0, {0x0.0p+0, 0x0.0p+0}},
    {0x1.0000000000000p+1, {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}},
    {0x1.0000000000000p-1, {-0x1.62e42fefa39efp-1, -0x1.abc9e3b39803fp-56}},
    {0x1.6a09e667f3bcdp+0, {0x1.62e42fefa39f0p-2, 0x1.c2e0e1b1548c2p-56}},
    {0x1.6a09e667f3bcep+0, {0x1.62e42fefa39f3p-2, 0x1.133014f0f271fp-56}},
    {0x1.0000000000001p+0, {0x1.fffffffffffffp-53, 0x1.5555555555554p-158}},
    {0x1.fffffffffffffp-1, {-0x1.0000000000000p-53, -0x1.0000000000000p-107}},
    {0x1.0000000000000p-53, {-0x1.25e4f7b2737fap+5, -0x1.8486612173c69p-51}},
    {0x1.7e43c8800759cp+996, {0x1.5963447f87fb5p+9, 0x1.abccc0710fcd4p-46}},
    {0x1.56e1fc2f8f359p-997, {-0x1.5963447f87fb5p+9, -0x1.aa670d35324e6p-46}},
    {0x1.858be8e12b2b8p-3, {-0x1.a8dde2678339fp+0, 0x1.ea6ad6b5dbb2bp-57}},
    {0x1.ef7fd19980920p-3, {-0x1.6b470fb979e58p+0, 0x1.7904c141fd03bp-54}},
    {0x1.ecdf863990e60p-6, {-0x1.c07ccdbd1c426p+1, -0x1.9482481a6ecbfp-54}},
    {0x1.db11a2a9c3fb0p-2, {-0x1.8938dde541632p-1, 0x1.93d8cc361cd49p-57}},
    {0x1.c31a96cba48f0p-2, {-0x1.a3b97189d9a0cp-1, -0x1.32d58e4f69660p-56}},
    {0x1.af529bcc80253p-1, {-0x1.5f2aaccc3c6f3p-3, -0x1.8463dde663afbp-57}},
    {0x1.09caa2cef40cdp-1, {-0x1.4fac69be7cb8bp-1, 0x1.aa5cbf08cd7e2p-55}},
    {0x1.47d45092d3611p-1, {-0x1.c88807a6d49b8p-2, 0x1.090fa496afa4dp-57}},
    {0x1.ffc4888096874p-2, {-0x1.631faae364b2ap-1, 0x1.341447e652115p-55}},
    {0x1.532c95c57074bp-1, {-0x1.a5b1c1d6189cfp-2, 0x1.e7f31d1689824p-56}},
    {0x1.d44e48d3d08a4p-2, {-0x1.9090382c6ff07p-1, -0x1.a1eb6b6745b9ap-55}},
    {0x1.1cd6bc3411534p-2, {-0x1.47907b557259ep+0, -0x1.cee3e6669f885p-56}},
    {0x1.00413a9236168p+0, {0x1.04c910e578cc9p-10, 0x1.94c051daae3cdp-64}},
    {0x1.0040f8a6c795bp+0, {0x1.03c1a627ea207p-10, -0x1.7649db4f576ebp-65}},
    {0x1.002c97bd513c3p+0, {0x1.649edc1903771p-11, 0x1.86ac40216f9c1p-65}},
    {0x1.001b3cef0e66cp+0, {0x1.b3b7c343db852p-12, -0x1.a51d35f8a087bp-66}},
    {0x1.ffcf9376c0c62p-1, {-0x1.83769ce48e897p-12, 0x1.b7ebf1517b3dap-68}},
    {0x1.ffb9222f8dbbfp-1, {-0x1.1b8ae1a6d830bp-11, -0x1.9c91a6e0272cbp-65}},
    {0x1.c7303e751aa7cp-1, {-0x1.e1be48a4f05d7p-4, 0x1.59fa703bc69b3p-58}},
    {0x1.572788d73db90p-1, {-0x1.99bf5c0388e80p-2, 0x1.3850c3ed3b3e3p-59}},
    {0x1.5dc50afd0dbccp+0, {0x1.3f967c08bbc0cp-2, 0x1.e8ef758d38f0ap-57}},
    {0x1.001a339d0cb91p+0, {0x1.a3245e0fc0402p-12, -0x1.011c44006755fp-67}},
    {0x1.72534de2e8ad2p+0, {0x1.7a10c8e267581p-2, 0x1.8593556b2090ap-58}},
    {0x1.f9184d377a15dp-1, {-0x1.bcee81587ca73p-7, -0x1.68ae593436c84p-62}},
};
constexpr Exact kCosine[] = {
    {0x0.0p+0, {0x1.0000000000000p+0, 0x0.0p+0}},
    {0x1.0000000000000p-3, {0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55}},
    {0x1.0000000000000p-4, {0x1.d906bcf328d46p-1, 0x1.457e610231ac2p-56}},
    {0x1.3333333333333p-2, {-0x1.3c6ef372fe94ep-2, -0x1.4328e56a95d11p-56}},
    {0x1.7fca09943da95p-2, {-0x1.6991f2a42690bp-1, -0x1.e9bf50802a81cp-56}},
    {0x1.ea84880114bbcp-1, {0x1.ee4f9a2fbaefcp-1, 0x1.a1e139866f5a1p-55}},
    {0x1.b1d2962bd55c3p-1, {0x1.25e6dcc1bcabdp-1, -0x1.1d91962823027p-56}},
    {0x1.1db436a80bc00p-11, {0x1.ffff3b50908d2p-1, 0x1.2f6357f541c58p-55}},
    {0x1.ad8052ed52a24p-3, {0x1.006b482de7d65p-2, 0x1.d925ac07c95fbp-56}},
    {0x1.d20f29835940dp-1, {0x1.b0c395ae25b8ap-1, -0x1.11a1821208848p-55}},
    {0x1.e14458300f2dap-2, {-0x1.f6ec63fcef791p-1, 0x1.488ffb7e7e37cp-55}},
    {0x1.f5f19b6d5e9a8p-1, {0x1.fc1b2d37a1301p-1, -0x1.debec07fa83e5p-55}},
    {0x1.96f66b35bbb98p-2, {-0x1.994ade11ce680p-1, 0x1.c263afe083174p-59}},
    {0x1.2b2a4121ea700p-4, {0x1.cb068c932d2e6p-1, 0x1.9e0f26824aff5p-57}},
    {0x1.4247ea0cb40ffp-1, {-0x1.5fc3ab9fc6180p-1, 0x1.fa5f48842b1b1p-57}},
    {0x1.8e98f9ab31b63p-1, {0x1.6ceae86170d81p-3, 0x1.a706d13ed8e10p-57}},
    {0x1.14400d2b1f4dep-2, {-0x1.fba26d18d5613p-4, 0x1.4ea70cee89385p-58}},
    {0x1.64f1509f56de0p-4, {0x1.b526132e7070bp-1, -0x1.087d71c2c8f83p-55}},
    {0x1.54915381f06b4p-2, {-0x1.fbd4013037b0ap-2, -0x1.d29058ba386a2p-58}},
    {0x1.ed9b65da3e463p-1, {0x1.f3033fa9bc369p-1, -0x1.a4e6c0098c54ep-56}},
    {0x1.841de2fb0fefdp-1, {0x1.9daf2dc100fd7p-5, 0x1.931723371512ep-59}},
    {0x1.e34b3e44e9d40p-4, {0x1.799ff26464d12p-1, -0x1.34dfafa185eb8p-55}},
    {0x1.f89a3eb4ff008p-3, {0x1.73ce56ff9f45dp-6, -0x1.0b0255bf51c2dp-60}},
};
constexpr Exact kSine[] = {
    {0x1.0000000000000p-2, {0x1.0000000000000p+0, 0x0.0p+0}},
    {0x1.0000000000000p-3, {0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55}},
    {0x1.0000000000000p-4, {0x1.87de2a6aea963p-2, -0x1.72cedd3d5a610p-57}},
    {0x1.3333333333333p-2, {0x1.e6f0e13445500p-1, -0x1.bf9ff95c4d098p-55}},
    {0x1.8118e3f4c861fp-2, {0x1.6797d2936a63ep-1, -0x1.86609ea9690c4p-58}},
    {0x1.19799812dea11p-40, {0x1.ba23cdd5122b5p-38, 0x1.072d176fb1407p-92}},
    {0x1.9de2bc059be50p-4, {0x1.2fa9a371b1ddap-1, 0x1.9d266be0c0607p-55}},
    {0x1.eaa591dc19300p-5, {0x1.78525fedc5b55p-2, -0x1.67a3f3e18f7e9p-57}},
    {0x1.9813341f281cep-1, {-0x1.e9d1013e6da6bp-1, -0x1.118aa52b38bbep-55}},
    {0x1.6be282ae9ca08p-3, {0x1.cc0abc0fc0461p-1, 0x1.055bc8a5dcd4dp-55}},
    {0x1.1e5beecc0e81ep-1, {-0x1.74bd417060981p-2, 0x1.9d1c575133439p-59}},
    {0x1.ca29bf412280ap-2, {0x1.4c260fb4469f2p-2, -0x1.c254ea3b551d5p-57}},
    {0x1.86858cfc3b66cp-3, {0x1.dcda078cae02ep-1, 0x1.0f2b65e53b892p-55}},
    {0x1.76bad6b13fd93p-1, {-0x1.fcb0c2d323a22p-1, 0x1.c67b3dfc79e5bp-56}},
    {0x1.0c38786b52b08p-3, {0x1.775acf74d5ffcp-1, -0x1.92c965c6da2a3p-55}},
    {0x1.499507588f63ap-1, {-0x1.920346c5d7bbfp-1, 0x1.10a12fc9c8940p-57}},
    {0x1.dd377aca2a388p-4, {0x1.56372109961bdp-1, 0x1.07a39c610758fp-58}},
    {0x1.aeda8f7eba082p-2, {0x1.e90cc8fc1491fp-2, 0x1.21b5a9e331dd0p-56}},
    {0x1.b3f2eb001edc8p-3, {0x1.f2206f8fcf6d5p-1, -0x1.ba451eddc52e8p-55}},
    {0x1.1445226ea27e8p-2, {0x1.fc0b83263db09p-1, 0x1.598d013def57ep-57}},
    {0x1.f11d9cfe640edp-1, {-0x1.7401d4fb53a06p-3, 0x1.42017f2b75e49p-57}},
    {0x1.9b58c0a5ef766p-1, {-0x1.e3701d033fca5p-1, 0x1.cb1681f89fccep-55}},
    {0x1.3771d37fbb4f0p-2, {0x1.e2a7d1caad719p-1, 0x1.bf37180937a0dp-55}},
    {0x1.c50d0a4141a12p-1, {-0x1.52eac3c81c194p-1, -0x1.783872c7974ebp-55}},
};
constexpr ExactPower kPower[] = {
    {0x1.0000000000000p+1, 0x1.0000000000000p-1, {0x1.6a09e667f3bcdp+0, -0x1.bdd3413b26456p-54}},
    {0x1.4000000000000p+3, -0x1.8000000000000p+1, {0x1.0624dd2f1a9fcp-10, -0x1.89374bc6a7efap-66}},
    {0x1.8000000000000p+0, -0x1.0000000000000p-1, {0x1.a20bd700c2c3ep-1, -0x1.fde99f28943c7p-60}},
    {0x1.8000000000000p+1, 0x1.b333333333333p+0, {0x1.9e45c2acce59ep+2, -0x1.c06fe684c8383p-52}},
    {0x1.4f8b588e368f1p-17, 0x1.d333333333333p+2, {0x1.ae6d4b56ac6a0p-122, 0x1.546db27e0d8abp-178}},
    {0x1.ff7ced916872bp-1, 0x1.f400000000000p+9, {0x1.788526411ed72p-2, -0x1.cd96c93b4e8f7p-57}},
    {0x1.e000000000000p+5, -0x1.3333333333333p-1, {0x1.5f218a823aa01p-4, -0x1.0226e864a8b99p-58}},
    {0x1.0db5867df81c0p+1, -0x1.e72eb682660ccp+0, {0x1.efd5fc3687982p-3, -0x1.8c49870446996p-57}},
    {0x1.11668e4814ab6p+3, 0x1.46ca13062a184p+1, {0x1.de2814da8e32ep+7, 0x1.03a652be9ad0ap-52}},
    {0x1.00da128d7978bp+0, 0x1.19d6789a89ae8p+3, {0x1.0799cbd43a95bp+0, -0x1.3f1b3cb611349p-55}},
    {0x1.10f39646a58c0p+1, -0x1.1676d94e9f04cp+2, {0x1.2fb4587e54c3dp-5, -0x1.829a2fecf52f3p-62}},
    {0x1.ee857a90d39f8p+2, -0x1.8a1631f0e06b0p+1, {0x1.e3ab1a65a6484p-10, 0x1.14a35983c4eb0p-65}},
    {0x1.7b4bb2bdc9858p+1, -0x1.eb71e2c54db4ap+2, {0x1.f40a968d0e2acp-13, -0x1.6d447c8214198p-68}},
    {0x1.cd66618596dd6p-1, 0x1.7d3df06eaca18p+0, {0x1.b67fa29e2f359p-1, -0x1.ac2fb467b4a68p-55}},
    {0x1.370e79427b406p+1, 0x1.d2b748945b5f0p+0, {0x1.43042ad6b1046p+2, -0x1.7b24c9d98462ep-52}},
    {0x1.dbc7fb638b3b8p+1, -0x1.af3bee6d70fa0p-1, {0x1.52e1e15af0059p-2, 0x1.e801fa90fb283p-56}},
    {0x1.32ec4ff77da86p+3, -0x1.2bfd49823e8e0p-2, {0x1.080283c0e7089p-1, -0x1.86cd9cfc11997p-56}},
    {0x1.6fb9c0badbe9cp+2, 0x1.a63cd1579914cp+2, {0x1.8f7ca29e228c7p+16, 0x1.22d30ea54c3f7p-38}},
    {0x1.d409f8c8b7e67p+0, -0x1.8e6fa5133e40cp+2, {0x1.7ee0c52b7fc4bp-6, -0x1.02c48aeb6e364p-60}},
    {0x1.09cebf1ffcea9p+245, 0x1.763e5af9db838p+0, {0x1.2ec59f4d7c147p+358, -0x1.2ac6257f60247p+303}},
    {0x1.9fa01743ff1ecp-151, -0x1.6d4a6da8ac20ep+0, {0x1.61d01b7b1f4dep+214, 0x1.8caa471d96163p+160}},
    {0x1.92ffd8d9b62d9p+143, 0x1.034f768f2b598p+1, {0x1.04643db7786eap+291, -0x1.57bb73a22ff7ep+236}},
    {0x1.efe3ebc04c764p-183, 0x1.090a3cc62c18ap+1, {0x1.092af1acea6a0p-377, -0x1.b0990c593a121p-435}},
    {0x1.3e36bb20d9a09p+229, 0x1.e7b00447d1cb0p-2, {0x1.289bcafc54996p+109, 0x1.dc73101d5eb1cp+55}},
    {0x1.d54a1c9c5f122p-48, -0x1.d284b5498c59ap+0, {0x1.d6c4136bb776bp+85, 0x1.ece2e8afe8036p+31}},
    {0x1.29bc0de94c649p-277, 0x1.106d479c6192ep+1, {0x1.e2b00aa9ee5f9p-590, 0x1.4df6b40adef0ep-644}},
    {0x1.07fc52733bfb3p-157, 0x1.e1d356f34a4f0p-1, {0x1.39f4acb86532cp-148, 0x1.1f7c94d2473d6p-203}},
};

/// How far `value` is from the exact one, in units in its last place.
double units(double value, const Value& exact) {
  const double unit = std::nextafter(std::abs(exact.high), std::numeric_limits<double>::infinity()) - std::abs(exact.high);
  return std::abs((value - exact.high) - exact.low) / unit;
}

template <class Cases, class Function>
double worst(const Cases& cases, Function&& function) {
  double most = 0;
  for (const auto& one : cases) most = std::max(most, units(function(one), one.value));
  return most;
}

/// The same for a function of floats, against C's in double, over every 997th float from 2^-20 to `most`, and their negatives.
template <class Function, class Reference>
double worst_float(float most, Function&& function, Reference&& reference) {
  double result = 0;
  constexpr std::uint32_t kBegin = 0x35800000;
  for (const float sign : {1.0F, -1.0F})
    for (std::uint32_t bits = kBegin;; bits += 997) {
      float x = 0;
      std::memcpy(&x, &bits, sizeof x);
      if (x > most) break;
      const double exact = reference(static_cast<double>(sign * x));
      const float near = std::abs(static_cast<float>(exact));
      const double unit = static_cast<double>(std::nextafter(near, std::numeric_limits<float>::infinity()) - near);
      result = std::max(result, std::abs(static_cast<double>(function(broadcast(sign * x))[0]) - exact) / unit);
    }
  return result;
}

}  // namespace

TEST_CASE("elementary functions are within one unit in the last place of 50 digits") {
  CHECK(worst(kExp, [](const Exact& one) { return portable::exp(one.x); }) < 0.7);
  CHECK(worst(kLog, [](const Exact& one) { return portable::log(one.x); }) < 0.6);
  CHECK(worst(kCosine, [](const Exact& one) { return portable::direction(one.x).cosine; }) < 0.9);
  CHECK(worst(kSine, [](const Exact& one) { return portable::direction(one.x).sine; }) < 0.9);
  CHECK(worst(kPower, [](const ExactPower& one) { return portable::pow(one.x, one.y); }) < 0.7);
}

TEST_CASE("elementary functions at the edges of their domains") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK(portable::exp(0) == 1);
  CHECK(portable::exp(kInfinity) == kInfinity);
  CHECK(portable::exp(710) == kInfinity);
  CHECK(portable::exp(-kInfinity) == 0);
  CHECK(portable::exp(-709) == 0);
  CHECK(std::isnan(portable::exp(NAN)));
  CHECK(portable::log(0) == -kInfinity);
  CHECK(portable::log(kInfinity) == kInfinity);
  CHECK(std::isnan(portable::log(-1)));
  CHECK(std::isnan(portable::log(NAN)));
  CHECK(portable::log(0x1p-1060) == doctest::Approx(std::log(0x1p-1060)).epsilon(1e-15));
  CHECK(portable::pow(0, 2) == 0);
  CHECK(portable::pow(0, -2) == kInfinity);
  CHECK(portable::pow(3, 0) == 1);
  CHECK(portable::pow(0.5, kInfinity) == 0);
  CHECK(portable::pow(kInfinity, 0.5) == kInfinity);
  CHECK(std::isnan(portable::pow(-1, 0.5)));
  CHECK(portable::direction(0.5).cosine == -1);
  CHECK(portable::direction(0.75).sine == -1);
  CHECK(portable::direction(1).cosine == 1);
}

TEST_CASE("nothing that reaches a result calls a function of the C library whose last bits differ") {
  // Of these files only what is shown, never what is trained.
  const std::set<std::string> shown{"partitions/statistics.cpp"};
  const std::regex call(
      R"(std::(exp|exp2|expm1|log|log2|log10|log1p|pow|sin|cos|tan|sinh|cosh|tanh|cbrt|hypot|erf|erfc|lgamma|tgamma)\()");
  const std::filesystem::path root(FEDSTRIDE_SOURCE_DIR);
  int files = 0;
  for (const char* folder : {"client", "data", "nn", "partitions", "server", "sim/fleet", "sim/time"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string name = entry.path().lexically_relative(root).generic_string();
      if (!(name.ends_with(".cpp") || name.ends_with(".hpp")) || shown.contains(name)) continue;
      ++files;
      CHECK_MESSAGE(!std::regex_search(read_file(entry.path().string()), call), name);
    }
  CHECK(files > 100);
  CHECK(!std::regex_search(read_file((root / "core/random.cpp").string()), call));
}

TEST_CASE("those of vectors of floats are within one unit, the logistic function within 2.5") {
  if (!kFused) return;
  CHECK(worst_float(
            87, [](Lanes x) { return exp(x); }, [](double x) { return std::exp(x); }) < 1);
  CHECK(worst_float(
            20, [](Lanes x) { return tanh(x); }, [](double x) { return std::tanh(x); }) < 1);
  CHECK(worst_float(
            80, [](Lanes x) { return sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }) < 2.5);
}

}  // namespace fedstride::test::elementary_test
