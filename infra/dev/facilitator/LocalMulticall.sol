// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The one function of Multicall3 that a facilitator asks: several reads at once, of which some may fail. With it the stock facilitator
/// names the reason of a refusal.
contract LocalMulticall {
    struct Call {
        address target;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function tryAggregate(bool requireSuccess, Call[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            (bool isDone, bytes memory answer) = calls[i].target.call(calls[i].callData);
            require(isDone || !requireSuccess, "Multicall3: call failed");
            results[i] = Result(isDone, answer);
        }
    }
}
